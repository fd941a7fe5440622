// A real ZooKeeper server of a test's own, on a free port of the loopback, killed with the test at
// the latest.
//
//   ZookeeperServer server;
//   if (!server.available()) GTEST_SKIP() << server.unavailable_because();
//   server.Start();            // and waits until it answers
//   settings.registry.address = server.address("/chroot");
#ifndef MARPC_TESTS_SUPPORT_ZOOKEEPER_SERVER_H_
#define MARPC_TESTS_SUPPORT_ZOOKEEPER_SERVER_H_

#include <memory>
#include <optional>
#include <string>

#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace marpc {

class ZookeeperServer {
 public:
  ZookeeperServer();
  ~ZookeeperServer();

  // Whether java and Debian's zookeeper package are there.
  bool available() const { return unavailable_because_.empty(); }
  const std::string& unavailable_because() const { return unavailable_because_; }

  // Starts the server, or starts it again with the disk as it is, and waits until it serves. False
  // when it does not.
  bool Start();
  // As a power cut.
  void Stop();
  // Connections stay, nothing is answered.
  void Pause();
  void Resume();
  // Only while stopped.
  void WipeDisk();

  // The answer to a four-letter command, such as "dump", which lists the sessions. Empty while it
  // does not answer.
  std::string Ask(const std::string& command) const;

  int port() const { return port_; }
  // zookeeper://127.0.0.1:port/chroot
  std::string address(const std::string& chroot = "") const;
  std::string log() const { return folder_ / "server.log"; }

 private:
  bool Answers() const;

  const TemporaryFolder folder_;
  int port_ = 0;
  std::string unavailable_because_;
  std::optional<ChildProcess> process_;
};

}  // namespace marpc

#endif  // MARPC_TESTS_SUPPORT_ZOOKEEPER_SERVER_H_
