// A peer that takes connections and does not answer: a process that hangs, or is cut off.
#ifndef TESTS_SUPPORT_SILENT_SERVER_H_
#define TESTS_SUPPORT_SILENT_SERVER_H_

#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

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

 private:
  void Accept(bool greets) const {
    std::vector<int> connections;
    for (int one; (one = listener_.Accept()) >= 0;) {
      connections.push_back(one);
      // An empty SETTINGS frame.
      const char greeting[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
      if (greets) (void)!write(one, greeting, sizeof(greeting));
    }
    for (const int one : connections) close(one);
  }

  const LoopbackListener listener_;
  std::thread thread_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_SILENT_SERVER_H_
