#include "marpc/config/combinations.h"

#include <initializer_list>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace marpc {
namespace {

// Reports `message` at the last of `keys` that is given at this level. Given at none of them, the
// combination was reported where it came from.
void Report(const AssignmentGroup& given, std::initializer_list<absl::string_view> keys,
            absl::string_view message, Faults& faults) {
  const Assignment* last = nullptr;
  for (const absl::string_view key : keys) {
    const Assignment* found = given.Find(key);
    if (found == nullptr) continue;
    const auto place = [](const Assignment& a) { return std::tie(a.mark.line, a.mark.column); };
    if (last == nullptr || place(*last) < place(*found)) last = found;
  }
  if (last != nullptr) {
    faults.Add(last->mark, absl::StrCat(given.path, ".", last->key->name, ": ", message));
  }
}

}  // namespace

void CheckGlobal(const AssignmentGroup& given, const Settings& settings, Faults& faults) {
  const TransportSettings& transport = settings.transport;
  if (transport.reconnect_backoff_max < transport.reconnect_backoff_initial) {
    Report(
        given, {"transport.reconnectBackoffInitial", "transport.reconnectBackoffMax"},
        absl::StrCat("reconnectBackoffMax (", absl::FormatDuration(transport.reconnect_backoff_max),
                     ") is below reconnectBackoffInitial (",
                     absl::FormatDuration(transport.reconnect_backoff_initial), ")"),
        faults);
  }
  if (settings.registry.acl && settings.registry.auth.empty()) {
    Report(given, {"registry.acl", "registry.auth"},
           "there is no user to give the nodes to; set registry.auth to user:password", faults);
  }
}

void CheckMethod(const AssignmentGroup& given, const MethodSettings& settings, Faults& faults) {
  const BackoffSettings& backoff = settings.retry.backoff;
  if (backoff.max < backoff.initial) {
    Report(given, {"retry.backoff.initial", "retry.backoff.max"},
           absl::StrCat("backoff.max (", absl::FormatDuration(backoff.max),
                        ") is below backoff.initial (", absl::FormatDuration(backoff.initial), ")"),
           faults);
  }
  if (settings.mock.reply.has_value() && settings.mock.code.has_value()) {
    Report(given, {"filter.mock.reply", "filter.mock.code"},
           "a method is mocked with a reply or with a code, not with both", faults);
  }
  if (!settings.mock.message.empty() && !settings.mock.code.has_value()) {
    Report(given, {"filter.mock.message"}, "a message without filter.mock.code says nothing",
           faults);
  }
}

std::vector<std::string> Warnings(const Settings& settings) {
  std::vector<std::string> warnings;
  if (settings.transport.keepalive_time < settings.provider.keepalive_min_interval) {
    warnings.push_back(absl::StrCat(
        "transport.keepaliveTime (", absl::FormatDuration(settings.transport.keepalive_time),
        ") is below what a provider permits by provider.keepaliveMinInterval (",
        absl::FormatDuration(settings.provider.keepalive_min_interval),
        "): providers will close the connection with too_many_pings"));
  }
  if (!settings.registry.static_instances.empty() && settings.registry.address != "static:") {
    warnings.push_back("registry.static has no effect: it is read when registry.address is static");
  }
  return warnings;
}

}  // namespace marpc
