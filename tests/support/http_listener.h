// An HTTP server for one thing: to take requests one after the other, and keep them.
#ifndef TESTS_SUPPORT_HTTP_LISTENER_H_
#define TESTS_SUPPORT_HTTP_LISTENER_H_

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/loopback_listener.h"

namespace marpc::testing {

class HttpListener {
 public:
  struct Request {
    std::string line;                            // POST /path HTTP/1.1
    std::map<std::string, std::string> headers;  // by name in lower case
    std::string body;
  };

  explicit HttpListener(int status = 200) : status_(status) {
    thread_ = std::thread([this] { Accept(); });
  }
  ~HttpListener() {
    listener_.Stop();
    thread_.join();
  }

  std::string url() const { return absl::StrCat("http://", listener_.endpoint()); }
  std::vector<Request> requests() const {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }

 private:
  void Accept() {
    for (int one; (one = listener_.Accept()) >= 0;) {
      Serve(one);
      close(one);
    }
  }
  void Serve(int connection) {
    std::string text;
    size_t head = std::string::npos;
    while ((head = text.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore(connection, text)) return;
    }
    Request request;
    const std::vector<std::string> lines = absl::StrSplit(text.substr(0, head), "\r\n");
    request.line = lines[0];
    for (size_t i = 1; i < lines.size(); ++i) {
      const size_t colon = lines[i].find(':');
      request.headers[absl::AsciiStrToLower(lines[i].substr(0, colon))] =
          std::string(absl::StripAsciiWhitespace(lines[i].substr(colon + 1)));
    }
    const size_t size = std::strtoul(request.headers["content-length"].c_str(), nullptr, 10);
    while (text.size() < head + 4 + size) {
      if (!ReadMore(connection, text)) return;
    }
    request.body = text.substr(head + 4, size);
    {
      absl::MutexLock lock(&mutex_);
      requests_.push_back(std::move(request));
    }
    const std::string answer =
        absl::StrCat("HTTP/1.1 ", status_, " Said\r\nContent-Length: 0\r\nConnection: close\r\n",
                     status_ == 302 ? "Location: /elsewhere\r\n" : "", "\r\n");
    (void)!write(connection, answer.data(), answer.size());
  }
  static bool ReadMore(int connection, std::string& text) {
    char buffer[4096];
    const ssize_t n = read(connection, buffer, sizeof(buffer));
    if (n <= 0) return false;
    text.append(buffer, n);
    return true;
  }

  const int status_;
  const LoopbackListener listener_;
  mutable absl::Mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_HTTP_LISTENER_H_
