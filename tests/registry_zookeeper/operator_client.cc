#include "tests/registry_zookeeper/operator_client.h"

#include <cstring>

#include "tests/registry/registry_fixture.h"

namespace marpc {
namespace {

// java.util.Random, which the server (3.8) fills a password of 16 bytes with, seeded with the id
// and a constant.
void MakePassword(int64_t session, char* password) {
  constexpr uint64_t kMultiplier = 0x5DEECE66D;
  constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;
  uint64_t seed = (static_cast<uint64_t>(session ^ int64_t{0xB3415C00}) ^ kMultiplier) & kMask;
  for (int i = 0; i < 16;) {
    seed = (seed * kMultiplier + 0xB) & kMask;
    uint32_t word = static_cast<uint32_t>(seed >> 16);
    for (int byte = 0; byte < 4; ++byte, word >>= 8) password[i++] = static_cast<char>(word);
  }
}

}  // namespace

OperatorClient::OperatorClient(int port, int64_t session, const std::string& auth) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  clientid_t id{};
  id.client_id = session;
  MakePassword(session, id.passwd);
  const std::string host = "127.0.0.1:" + std::to_string(port);
  handle_ = zookeeper_init(
      host.c_str(), [](zhandle_t*, int, int, const char*, void*) {}, 10'000,
      session == 0 ? nullptr : &id, nullptr, 0);
  if (!auth.empty()) {
    zoo_add_auth(handle_, "digest", auth.data(), static_cast<int>(auth.size()), nullptr, nullptr);
  }
}

OperatorClient::~OperatorClient() { zookeeper_close(handle_); }

bool OperatorClient::WaitUntilConnected() const {
  return Eventually([this] {
    const int state = zoo_state(handle_);
    return state == ZOO_CONNECTED_STATE || state == ZOO_EXPIRED_SESSION_STATE;
  });
}

int OperatorClient::Create(const std::string& path, const std::string& data, bool ephemeral) {
  return zoo_create(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                    &ZOO_OPEN_ACL_UNSAFE, ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, nullptr, 0);
}

int OperatorClient::CreateParents(const std::string& path) {
  int rc = ZOK;
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    rc = Create(path.substr(0, slash), "");
  }
  return rc;
}

int OperatorClient::Set(const std::string& path, const std::string& data) {
  return zoo_set(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), -1);
}

int OperatorClient::Delete(const std::string& path) {
  return zoo_delete(handle_, path.c_str(), -1);
}

int OperatorClient::DeleteAll(const std::string& path) {
  for (const std::string& child : Children(path)) DeleteAll(path + "/" + child);
  return Delete(path);
}

bool OperatorClient::Exists(const std::string& path) {
  return zoo_exists(handle_, path.c_str(), 0, nullptr) == ZOK;
}

std::string OperatorClient::Get(const std::string& path) {
  std::string data(1 << 16, '\0');
  int size = static_cast<int>(data.size());
  if (zoo_get(handle_, path.c_str(), 0, data.data(), &size, nullptr) != ZOK || size < 0) return "";
  data.resize(static_cast<size_t>(size));
  return data;
}

std::vector<std::string> OperatorClient::Children(const std::string& path) {
  String_vector names{};
  std::vector<std::string> children;
  if (zoo_get_children(handle_, path.c_str(), 0, &names) != ZOK) return children;
  children.assign(names.data, names.data + names.count);
  deallocate_String_vector(&names);
  return children;
}

int64_t OperatorClient::EphemeralOwner(const std::string& path) {
  Stat stat{};
  return zoo_exists(handle_, path.c_str(), 0, &stat) == ZOK ? stat.ephemeralOwner : 0;
}

void ExpireSession(int port, int64_t session) {
  OperatorClient double_of_it(port, session);
  double_of_it.WaitUntilConnected();
}

}  // namespace marpc
