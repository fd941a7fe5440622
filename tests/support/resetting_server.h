// A peer that speaks as much HTTP/2 as it needs to break every stream: a proxy without a backend, a
// server that dies under its calls.
#ifndef TESTS_SUPPORT_RESETTING_SERVER_H_
#define TESTS_SUPPORT_RESETTING_SERVER_H_

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/support/loopback_listener.h"

namespace marpc::testing {

class ResettingServer {
 public:
  // `code` is RFC 9113's: 2 INTERNAL_ERROR, 8 CANCEL ...
  explicit ResettingServer(uint8_t code) : code_(code) {
    thread_ = std::thread([this] { Accept(); });
  }
  ~ResettingServer() {
    listener_.Stop();
    // The connection that is being served ends its thread, too.
    if (const int one = connection_.load(); one >= 0) shutdown(one, SHUT_RDWR);
    thread_.join();
  }

  std::string endpoint() const { return listener_.endpoint(); }
  int arrivals() const { return arrivals_.load(); }

 private:
  using Header = std::array<uint8_t, 9>;
  static constexpr uint8_t kHeaders = 1, kReset = 3, kSettings = 4, kAck = 1;

  void Accept() {
    for (int one; (one = listener_.Accept()) >= 0;) {
      connection_.store(one);
      Serve(one);
      connection_.store(-1);
      close(one);
    }
  }

  void Serve(int connection) {
    constexpr size_t kPrefaceSize = 24;
    Send(connection, {0, 0, 0, kSettings});
    if (!Skip(connection, kPrefaceSize)) return;
    for (Header header; Read(connection, header.data(), header.size());) {
      const uint8_t type = header[3];
      if (!Skip(connection, header[0] << 16 | header[1] << 8 | header[2])) return;
      if (type == kSettings && header[4] != kAck) Send(connection, {0, 0, 0, kSettings, kAck});
      if (type != kHeaders) continue;
      arrivals_.fetch_add(1);
      Send(connection, {0, 0, 4, kReset, 0, header[5], header[6], header[7], header[8]});
      const std::array<uint8_t, 4> code = {0, 0, 0, code_};
      (void)!write(connection, code.data(), code.size());
    }
  }

  static void Send(int connection, const Header& header) {
    (void)!write(connection, header.data(), header.size());
  }
  static bool Read(int connection, uint8_t* bytes, size_t size) {
    return recv(connection, bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  static bool Skip(int connection, size_t size) {
    std::string bytes(size, '\0');
    return size == 0 || Read(connection, reinterpret_cast<uint8_t*>(bytes.data()), size);
  }

  const uint8_t code_;
  const LoopbackListener listener_;
  std::atomic<int> connection_{-1};
  std::atomic<int> arrivals_{0};
  std::thread thread_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_RESETTING_SERVER_H_
