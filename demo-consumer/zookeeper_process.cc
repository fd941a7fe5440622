#include "demo-consumer/zookeeper_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "demo-consumer/text_tail.h"

namespace demo {
namespace {

namespace fs = std::filesystem;

constexpr char kServerJar[] = "/usr/share/java/zookeeper.jar";
constexpr char kClassPath[] = "/etc/zookeeper/conf:/usr/share/java/*";
constexpr absl::Duration kStartTimeout = absl::Seconds(40);

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
  const bool found = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  return found ? ntohs(address.sin_port) : 0;
}

bool InPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

absl::Status CheckInstalled() {
  const char* missing = !fs::exists(kServerJar) ? kServerJar : !InPath("java") ? "java" : nullptr;
  if (missing == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "ZooKeeper's server cannot be started: there is no ", missing,
      ". Install it (apt-get install zookeeper default-jre-headless), or run on the embedded "
      "registry (--registry file)"));
}

}  // namespace

ZookeeperProcess::ZookeeperProcess(std::string folder)
    : folder_(std::move(folder)), port_(FreePort()) {}

absl::Status ZookeeperProcess::WriteConfig() const {
  std::error_code error;
  fs::create_directories(folder_ + "/data", error);
  std::ofstream config(folder_ + "/zoo.cfg");
  config << "tickTime=500\n"  // allows sessions of one second
         << "dataDir=" << folder_ << "/data\n"
         << "clientPortAddress=127.0.0.1\n"
         << "clientPort=" << port_ << "\n"
         << "maxClientCnxns=0\n"
         << "admin.enableServer=false\n"
         << "4lw.commands.whitelist=srvr\n";
  config.flush();
  if (config.good()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", folder_, "/zoo.cfg"));
}

absl::Status ZookeeperProcess::Start() {
  if (absl::Status installed = CheckInstalled(); !installed.ok()) return installed;
  if (absl::Status written = WriteConfig(); !written.ok()) return written;
  const std::string log = folder_ + "/server.log";
  auto process = ChildProcess::Start(
      {"java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", kClassPath,
       "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder_ + "/zoo.cfg"},
      log);
  if (!process.ok()) return process.status();
  process_ = *std::move(process);
  const absl::Time end = absl::Now() + kStartTimeout;
  while (!Answers()) {
    // Its exit is what there is to wait for between two questions.
    const std::optional<int> ended = process_->WaitForExit(absl::Milliseconds(50));
    if (!ended.has_value() && absl::Now() < end) continue;
    return absl::UnavailableError(absl::StrCat(
        "ZooKeeper's server on port ", port_,
        ended.has_value()
            ? absl::StrCat(" ended with ", *ended)
            : absl::StrCat(" does not answer within ", absl::FormatDuration(kStartTimeout)),
        TextTail(log)));
  }
  return absl::OkStatus();
}

void ZookeeperProcess::Kill() { process_.reset(); }

absl::Status ZookeeperProcess::WipeDisk() {
  std::error_code error;
  fs::remove_all(folder_ + "/data", error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", folder_, "/data"));
}

bool ZookeeperProcess::Answers() const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in address = Loopback(port_);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      send(fd, "srvr", 4, MSG_NOSIGNAL) == 4) {
    char buffer[1024];
    for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  return absl::StrContains(answer, "Mode:");
}

}  // namespace demo
