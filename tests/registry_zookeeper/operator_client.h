// What an operator would do with zkCli: a plain ZooKeeper client of a test's own, blocking.
#ifndef MARPC_TESTS_REGISTRY_ZOOKEEPER_OPERATOR_CLIENT_H_
#define MARPC_TESTS_REGISTRY_ZOOKEEPER_OPERATOR_CLIENT_H_

#define THREADED  // or the header has no blocking calls
#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <string>
#include <vector>

namespace marpc {

class OperatorClient {
 public:
  // With a session id, it takes over that session (as a network that delivers late might): see
  // ExpireSession().
  explicit OperatorClient(int port, int64_t session = 0, const std::string& auth = "");
  ~OperatorClient();
  OperatorClient(const OperatorClient&) = delete;
  OperatorClient& operator=(const OperatorClient&) = delete;

  bool WaitUntilConnected() const;

  // The client's codes: ZOK, ZNONODE, ZNOAUTH ...
  int Create(const std::string& path, const std::string& data, bool ephemeral = false);
  int CreateParents(const std::string& path);
  int Set(const std::string& path, const std::string& data);
  int Delete(const std::string& path);
  int DeleteAll(const std::string& path);
  bool Exists(const std::string& path);
  std::string Get(const std::string& path);
  std::vector<std::string> Children(const std::string& path);
  // 0 where there is no node, or a persistent one.
  int64_t EphemeralOwner(const std::string& path);

 private:
  zhandle_t* handle_;
};

// Ends a session as its expiry does: takes it over and closes it, unless its owner takes it back
// first. The servers derive a session's password from its id, so the id is enough.
void ExpireSession(int port, int64_t session);

}  // namespace marpc

#endif  // MARPC_TESTS_REGISTRY_ZOOKEEPER_OPERATOR_CLIENT_H_
