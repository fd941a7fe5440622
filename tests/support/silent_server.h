// A peer that takes connections and does not answer: a process that hangs, or is cut off.
#ifndef TESTS_SUPPORT_SILENT_SERVER_H_
#define TESTS_SUPPORT_SILENT_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace marpc::testing {

class SilentServer {
 public:
  // `greets`: begins HTTP/2, so that clients take it for a server, before it falls silent.
  explicit SilentServer(bool greets) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    socklen_t size = sizeof(address);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(fd_, 16);
    thread_ = std::thread([this, greets] { Accept(greets); });
  }
  ~SilentServer() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void Accept(bool greets) const {
    std::vector<int> connections;
    for (int one; (one = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      connections.push_back(one);
      // An empty SETTINGS frame.
      const char greeting[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
      if (greets) (void)!write(one, greeting, sizeof(greeting));
    }
    for (const int one : connections) close(one);
  }

  const int fd_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_SILENT_SERVER_H_
