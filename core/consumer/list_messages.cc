#include "marpc/consumer/list_messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "marpc/base/error.h"
#include "marpc/observe/log.h"
#include "marpc/registry/address.h"

namespace marpc {
namespace {

// Of a large service that comes up at once, the first ones are enough.
constexpr size_t kMostShown = 10;

// ` joined=a:1,b:2`, or nothing.
std::string Field(const char* name, const std::vector<std::string>& endpoints) {
  if (endpoints.empty()) return "";
  const size_t shown = std::min(endpoints.size(), kMostShown);
  std::string text = absl::StrCat(" ", name, "=",
                                  absl::StrJoin(endpoints.begin(), endpoints.begin() + shown, ","));
  if (shown < endpoints.size()) absl::StrAppend(&text, ",...(", endpoints.size(), " in all)");
  return text;
}

// Those of `a` that are not in `b`.
std::vector<std::string> Without(const std::set<Endpoint>& a, const std::set<Endpoint>& b) {
  std::vector<std::string> endpoints;
  for (const Endpoint& endpoint : a) {
    if (!b.contains(endpoint)) endpoints.push_back(endpoint.ToString());
  }
  return endpoints;
}

void LogMarks(const std::set<Endpoint>& before, const ServiceSnapshot& after) {
  const std::vector<std::string> marked = Without(after.gray_marks, before);
  const std::vector<std::string> unmarked = Without(before, after.gray_marks);
  if (marked.empty() && unmarked.empty()) return;
  Logger()->info("event=gray_marks service={} marks={}{}{}", after.service, after.gray_marks.size(),
                 Field("marked", marked), Field("unmarked", unmarked));
}

}  // namespace

std::string RegistryInWords(const Settings& settings) {
  const absl::StatusOr<RegistryAddress> address = ParseRegistryAddress(settings.registry);
  return absl::StrCat(address.ok() ? address->text : settings.registry.address, ", env ",
                      settings.env);
}

absl::Status ListNotReady(const std::string& service, const RegistryState& registry) {
  return FrameworkError(
      absl::StatusCode::kUnavailable, reason::kNoAvailableInstance,
      absl::StrCat(
          "the registry has not yet said which instances ", service, " has",
          registry.connection == RegistryState::Connection::kConnected ? "" : ": not connected",
          registry.detail.empty() ? "" : absl::StrCat(" (", registry.detail, ")"),
          "; calls will work as soon as it does"));
}

void LogListChange(const ServiceSnapshot* before, const ServiceSnapshot& after) {
  const auto logger = Logger();
  if (!logger->should_log(spdlog::level::info)) return;
  std::map<Endpoint, std::string> gone;
  if (before != nullptr) {
    for (const Instance& instance : before->instances) {
      gone.emplace(instance.endpoint, instance.owner);
    }
  }
  std::vector<std::string> joined;
  std::vector<std::string> restarted;
  for (const Instance& instance : after.instances) {
    const auto known = gone.find(instance.endpoint);
    if (known == gone.end()) {
      joined.push_back(instance.endpoint.ToString());
      continue;
    }
    if (known->second != instance.owner) restarted.push_back(instance.endpoint.ToString());
    gone.erase(known);
  }
  std::vector<std::string> left;
  left.reserve(gone.size());
  for (const auto& [endpoint, owner] : gone) left.push_back(endpoint.ToString());
  if (before == nullptr || !joined.empty() || !restarted.empty() || !left.empty()) {
    logger->info("event=instances service={} known={}{}{}{}", after.service, after.instances.size(),
                 Field("joined", joined), Field("restarted", restarted), Field("left", left));
  }
  static const std::set<Endpoint> none;
  LogMarks(before == nullptr ? none : before->gray_marks, after);
}

}  // namespace marpc
