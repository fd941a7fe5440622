#include "tests/support/zookeeper_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

// The client (3.8) forgets what its completion thread has not handled yet when a busy handle is
// closed. That memory is the client's; ours lives in slots of ZkSession.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt"; }

namespace marpc {
namespace {

constexpr char kClassPath[] = "/etc/zookeeper/conf:/usr/share/java/*";
constexpr char kJar[] = "/usr/share/java/zookeeper.jar";

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

ZookeeperServer::ZookeeperServer() : port_(FreePort()) {
  if (!std::filesystem::exists(kJar)) {
    unavailable_because_ = "ZooKeeper's server is not installed (Debian: zookeeper)";
  } else if (std::system("java -version >/dev/null 2>&1") != 0) {
    unavailable_because_ = "java is not installed (Debian: default-jre-headless)";
  }
}

ZookeeperServer::~ZookeeperServer() = default;

std::string ZookeeperServer::address(const std::string& chroot) const {
  return "zookeeper://127.0.0.1:" + std::to_string(port_) + chroot;
}

bool ZookeeperServer::Start() {
  std::filesystem::create_directories(folder_ / "data");
  std::ofstream(folder_ / "zoo.cfg") << "tickTime=500\n"
                                     << "dataDir=" << folder_ / "data"
                                     << "\n"
                                     << "clientPortAddress=127.0.0.1\n"
                                     << "clientPort=" << port_ << "\n"
                                     << "maxClientCnxns=0\n"
                                     << "admin.enableServer=false\n"
                                     << "4lw.commands.whitelist=*\n";
  process_.emplace(ChildProcess::Options{
      {"java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", kClassPath,
       "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder_ / "zoo.cfg"},
      log(),
      /*pipes=*/false});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!Answers()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

void ZookeeperServer::Stop() { process_.reset(); }

void ZookeeperServer::Pause() { process_->Kill(SIGSTOP); }

void ZookeeperServer::Resume() { process_->Kill(SIGCONT); }

void ZookeeperServer::WipeDisk() { std::filesystem::remove_all(folder_ / "data"); }

bool ZookeeperServer::Answers() const { return Ask("srvr").find("Mode:") != std::string::npos; }

std::string ZookeeperServer::Ask(const std::string& command) const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in address = Loopback(port_);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      write(fd, command.data(), command.size()) == static_cast<ssize_t>(command.size())) {
    char buffer[1024];
    for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  return answer;
}

}  // namespace marpc
