#include "marpc/registry/address.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "marpc/base/endpoint.h"

namespace marpc {
namespace {

using Scheme = RegistryAddress::Scheme;

// What stands before an '@' may be a password, though it has no place there.
std::string WithoutPassword(absl::string_view address) {
  const size_t at = address.rfind('@');
  if (at == absl::string_view::npos) return std::string(address);
  const size_t scheme = address.find("://");
  return absl::StrCat(scheme < at ? address.substr(0, scheme + 3) : "", "(hidden)",
                      address.substr(at));
}

absl::Status Bad(absl::string_view address, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("registry address '", WithoutPassword(address), "': ", why));
}

absl::Status ParseChroot(absl::string_view chroot, RegistryAddress& address) {
  absl::ConsumeSuffix(&chroot, "/");
  if (chroot.empty()) return absl::OkStatus();
  for (absl::string_view part : absl::StrSplit(chroot.substr(1), '/')) {
    if (part.empty() || part == "." || part == ".." || part == "zookeeper") {
      return Bad(address.text, absl::StrCat("'", part, "' cannot be a part of the chroot"));
    }
  }
  address.chroot = std::string(chroot);
  return absl::OkStatus();
}

absl::Status ParseZookeeper(absl::string_view rest, RegistryAddress& address) {
  absl::ConsumePrefix(&rest, "//");
  const size_t slash = rest.find('/');
  std::vector<std::string> hosts;
  for (absl::string_view host : absl::StrSplit(rest.substr(0, slash), ',')) {
    host = absl::StripAsciiWhitespace(host);
    std::string with_port(host);
    // The port may be left out, but not the brackets of an IPv6 address.
    if (!absl::StrContains(host, ':') || absl::EndsWith(host, "]")) with_port += ":2181";
    absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(with_port);
    if (!endpoint.ok() || endpoint->is_unix()) {
      if (absl::StrContains(rest, '@')) {
        return Bad(address.text, "it names no user; that is what registry.auth is for");
      }
      return Bad(address.text,
                 absl::StrCat("'", host,
                              "' is no server; expected zookeeper://host:port,host:port/chroot"));
    }
    hosts.push_back(std::move(with_port));
  }
  address.hosts = absl::StrJoin(hosts, ",");
  return slash == absl::string_view::npos ? absl::OkStatus()
                                          : ParseChroot(rest.substr(slash), address);
}

absl::Status ParseFile(absl::string_view rest, RegistryAddress& address) {
  if (absl::StartsWith(rest, "///")) rest.remove_prefix(2);
  while (rest.size() > 1 && absl::EndsWith(rest, "/")) rest.remove_suffix(1);
  if (!absl::StartsWith(rest, "/") || absl::StartsWith(rest, "//") || rest == "/") {
    return Bad(address.text, "expected the absolute path of a folder, as in file:/run/marpc");
  }
  address.folder = std::string(rest);
  return absl::OkStatus();
}

absl::Status ParseMemory(absl::string_view rest, RegistryAddress& address) {
  absl::ConsumePrefix(&rest, "//");
  if (rest.empty()) return Bad(address.text, "expected a name, as in memory:test");
  address.name = std::string(rest);
  return absl::OkStatus();
}

absl::Status ParseStatic(absl::string_view rest, RegistryAddress& address) {
  absl::ConsumePrefix(&rest, "//");
  if (rest.empty()) return absl::OkStatus();
  return Bad(address.text, "nothing may follow 'static:'; the instances stand in registry.static");
}

}  // namespace

absl::StatusOr<RegistryAddress> ParseRegistryAddress(const RegistrySettings& settings) {
  RegistryAddress address;
  address.text = settings.address;
  if (address.text.empty()) {
    address.text = absl::StrContains(settings.zk_address, "://")
                       ? settings.zk_address
                       : absl::StrCat("zookeeper://", settings.zk_address);
  }
  const absl::string_view text = address.text;
  const size_t colon = text.find(':');
  const absl::string_view scheme = text.substr(0, colon);
  const absl::string_view rest =
      colon == absl::string_view::npos ? absl::string_view() : text.substr(colon + 1);
  absl::Status parsed;
  if (colon == absl::string_view::npos) {
    parsed = Bad(text, "it begins with no scheme; known: zookeeper, file, memory, static");
  } else if (scheme == "zookeeper") {
    address.scheme = Scheme::kZookeeper;
    parsed = ParseZookeeper(rest, address);
  } else if (scheme == "file") {
    address.scheme = Scheme::kFile;
    parsed = ParseFile(rest, address);
  } else if (scheme == "memory") {
    address.scheme = Scheme::kMemory;
    parsed = ParseMemory(rest, address);
  } else if (scheme == "static") {
    address.scheme = Scheme::kStatic;
    parsed = ParseStatic(rest, address);
  } else {
    parsed = absl::InvalidArgumentError(absl::StrCat("unknown registry scheme '", scheme, "' in '",
                                                     WithoutPassword(text),
                                                     "'; known: zookeeper, file, memory, static"));
  }
  if (!parsed.ok()) return parsed;
  return address;
}

}  // namespace marpc
