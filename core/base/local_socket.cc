#include "marpc/base/local_socket.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace marpc {
namespace {

// The kernel's name for the time since the host was switched on; containers see the host's.
constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";

absl::StatusOr<std::string> BootId() {
  std::ifstream file(kBootId);
  std::string id;
  if (!(file >> id)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", kBootId, ", by which a host is known"));
  }
  return id;
}

// "device:inode".
absl::StatusOr<std::string> IdentityOf(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  if (!S_ISSOCK(found.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no socket"));
  }
  return absl::StrCat(found.st_dev, ":", found.st_ino);
}

}  // namespace

absl::StatusOr<std::string> DescribeLocalSocket(const std::string& path) {
  const absl::StatusOr<std::string> boot = BootId();
  if (!boot.ok()) return boot.status();
  const absl::StatusOr<std::string> identity = IdentityOf(path);
  if (!identity.ok()) return identity.status();
  return absl::StrCat(*boot, " ", *identity, " ", path);
}

absl::StatusOr<Endpoint> FindLocalSocket(absl::string_view description) {
  const std::vector<std::string> parts = absl::StrSplit(description, absl::MaxSplits(' ', 2));
  if (parts.size() != 3) {
    return absl::InvalidArgumentError("it is not 'boot-id device:inode /path'");
  }
  absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(absl::StrCat("unix:", parts[2]));
  if (!endpoint.ok()) return endpoint.status();
  const absl::StatusOr<std::string> boot = BootId();
  if (!boot.ok() || *boot != parts[0]) return absl::NotFoundError("it is on another host");
  const absl::StatusOr<std::string> identity = IdentityOf(endpoint->host());
  if (!identity.ok()) return absl::NotFoundError(identity.status().message());
  if (*identity != parts[1]) {
    return absl::NotFoundError(absl::StrCat(endpoint->host(), " is another socket here"));
  }
  return endpoint;
}

}  // namespace marpc
