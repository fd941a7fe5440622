// The TCP connections that stand to a port of loopback, as the kernel tells.
#ifndef TESTS_SUPPORT_TCP_CONNECTIONS_H_
#define TESTS_SUPPORT_TCP_CONNECTIONS_H_

#include <fstream>
#include <sstream>
#include <string>

namespace marpc::testing {

inline int TcpConnectionsIn(const char* path, int port) {
  std::ifstream table(path);
  std::string line;
  std::getline(table, line);  // names of the columns
  int count = 0;
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    std::string slot, local, remote, state;
    columns >> slot >> local >> remote >> state;
    const std::string remote_port = remote.substr(remote.find(':') + 1);
    if (state == "01" && std::stoi(remote_port, nullptr, 16) == port) ++count;
  }
  return count;
}

// Counted at the end that connected, whose socket may be of either family.
inline int TcpConnectionsTo(int port) {
  return TcpConnectionsIn("/proc/self/net/tcp", port) +
         TcpConnectionsIn("/proc/self/net/tcp6", port);
}

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_TCP_CONNECTIONS_H_
