// A listening socket on a free port of loopback, for peers that are no gRPC servers.
#ifndef TESTS_SUPPORT_LOOPBACK_LISTENER_H_
#define TESTS_SUPPORT_LOOPBACK_LISTENER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace marpc::testing {

// Thread-safe.
class LoopbackListener {
 public:
  LoopbackListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    socklen_t size = sizeof(address);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(fd_, 16);
  }
  ~LoopbackListener() { close(fd_); }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // The next connection, which is the caller's to close; negative after Stop().
  int Accept() const { return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }
  void Stop() const { shutdown(fd_, SHUT_RDWR); }

 private:
  const int fd_;
  int port_ = 0;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_LOOPBACK_LISTENER_H_
