// A peer that takes connections and does not answer: a process that hangs, or is cut off.
#ifndef TESTS_SUPPORT_SILENT_SERVER_H_
#define TESTS_SUPPORT_SILENT_SERVER_H_

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/loopback_listener.h"

namespace marpc::testing {

class SilentServer {
 public:
  // `greets`: begins HTTP/2, so that clients take it for a server, before it falls silent.
  explicit SilentServer(bool greets) {
    thread_ = std::thread([this, greets] { Accept(greets); });
  }
  ~SilentServer() {
    listener_.Stop();
    thread_.join();
  }

  std::string endpoint() const { return listener_.endpoint(); }
  // Did `text` reach it, on any connection? What has come stays unread.
  bool HasGot(absl::string_view text) const {
    absl::MutexLock lock(&mutex_);
    for (const int one : connections_) {
      std::string got(64 << 10, '\0');
      const ssize_t n = recv(one, got.data(), got.size(), MSG_PEEK | MSG_DONTWAIT);
      got.resize(n > 0 ? n : 0);
      if (absl::StrContains(got, text)) return true;
    }
    return false;
  }

 private:
  void Accept(bool greets) {
    for (int one; (one = listener_.Accept()) >= 0;) {
      {
        absl::MutexLock lock(&mutex_);
        connections_.push_back(one);
      }
      // An empty SETTINGS frame.
      const char greeting[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
      if (greets) (void)!write(one, greeting, sizeof(greeting));
    }
    absl::MutexLock lock(&mutex_);
    for (const int one : std::exchange(connections_, {})) close(one);
  }

  const LoopbackListener listener_;
  mutable absl::Mutex mutex_;
  std::vector<int> connections_;
  std::thread thread_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_SILENT_SERVER_H_
