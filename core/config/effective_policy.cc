#include "marpc/config/effective_policy.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "marpc/config/faults.h"
#include "marpc/config/keys.h"
#include "marpc/config/policy_text.h"

namespace marpc {
namespace {

using Source = ValueOrigin::Source;

constexpr absl::string_view kRetryPolicy = "retry.policy";

struct PolicyKey {
  const Key* key;
  std::string by_default;
};
std::vector<PolicyKey> KeysWithDefaults(bool (*wanted)(const Key&)) {
  std::vector<PolicyKey> keys;
  Settings defaults;
  for (const Key& key : Keys()) {
    if (wanted(key)) keys.push_back({&key, key.show(Place::Global(defaults))});
  }
  return keys;
}
// The keys that a method goes by, with their defaults.
const std::vector<PolicyKey>& MethodKeys() {
  static const auto& keys =
      *new std::vector<PolicyKey>(KeysWithDefaults([](const Key& key) { return key.of_method; }));
  return keys;
}
// The others that a service may give.
const std::vector<PolicyKey>& ServiceKeys() {
  static const auto& keys = *new std::vector<PolicyKey>(KeysWithDefaults(
      [](const Key& key) { return key.AllowedAt(Level::kService) && !key.of_method; }));
  return keys;
}

using Origins = decltype(MethodSettings::origins);

// Is `value` neither the default nor what the file gave?
bool ChangedByCode(const PolicyKey& key, const std::string& value, const Origins& origins) {
  const auto given = origins.find(key.key->name);
  return value != (given == origins.end() ? key.by_default : given->second.value);
}

void FindChangesByCode(MethodSettings& settings) {
  const Place place = Place::OfMethod(settings);
  for (const PolicyKey& one : MethodKeys()) {
    if (ChangedByCode(one, one.key->show(place), settings.origins)) {
      NoteOrigin(*one.key, {.source = Source::kCode}, place);
    }
  }
}

// Appends what is wrong with `where`, a line each.
void Report(const std::string& where, const Faults& faults, std::string& report) {
  for (const auto& [mark, message] : faults.all()) {
    absl::StrAppend(&report, report.empty() ? "" : "\n", where, ": ", message);
  }
}

Level LevelOf(absl::string_view name) {
  return absl::StrContains(name, '/') ? Level::kMethod : Level::kService;
}

// One after the other over `settings`; an empty name stands for the service as a whole.
void ApplyCode(const std::string& service, const std::string& method, const Settings& settings,
               const CodePolicies& code, MethodSettings& target, std::string& report) {
  std::vector<std::string> names = {service};
  if (!method.empty()) names.push_back(absl::StrCat(service, "/", method));
  for (const std::string& name : names) {
    const auto own = code.find(name);
    if (own == code.end()) continue;
    Faults faults;
    ApplyPolicyText(own->second, LevelOf(name), Source::kCode, &settings.retry_policies, target,
                    faults);
    Report(absl::StrCat("ConsumerOptions::policies of ", name), faults, report);
  }
}

void ApplyProto(const Method& method, const std::string& own_policy, const Settings& settings,
                MethodSettings& target, std::string& report) {
  MethodSettings declared;
  for (const auto& [text, level, source, option] :
       {std::tuple(method.service_policy, Level::kService, Source::kProtoService,
                   absl::StrCat("option (marpc.service) of ", method.service)),
        std::tuple(own_policy, Level::kMethod, Source::kProtoMethod,
                   absl::StrCat("option (marpc.method) of ", method.full_name))}) {
    if (text.empty()) continue;
    Faults faults;
    ApplyPolicyText(text, level, source, &settings.retry_policies, declared, faults);
    Report(option, faults, report);
  }
  const bool other_policy = target.origins.contains(kRetryPolicy);
  for (const auto& [name, origin] : declared.origins) {
    if (target.origins.contains(name) || (other_policy && !origin.policy.empty())) continue;
    FindKey(name)->copy(Place::OfMethod(declared), Place::OfMethod(target));
    target.origins[name] = origin;
  }
}

// What the .proto or code says of breakers that there are none of. A file's own keys were looked at
// when it was read.
std::vector<std::string> IdleBreakerKeys(MethodSettings& settings) {
  const CircuitBreakerSettings& breaker = settings.circuit_breaker;
  std::vector<std::string> idle;
  if (!breaker.enabled) return idle;
  const auto check = [&](absl::string_view keys, bool acts) {
    for (const auto& [key, origin] : settings.origins) {
      const bool given = origin.source == Source::kProtoService ||
                         origin.source == Source::kProtoMethod || origin.source == Source::kCode;
      if (acts || !given || !absl::StartsWith(key, keys)) continue;
      idle.push_back(
          absl::StrCat(key, " has no effect: circuitbreaker.scope is ",
                       FindKey("circuitbreaker.scope")->show(Place::OfMethod(settings))));
    }
  };
  check("circuitbreaker.method.", breaker.scope.method);
  check("circuitbreaker.instance.", breaker.scope.instance);
  check("circuitbreaker.activeProbe", breaker.scope.instance || !breaker.active_probe);
  return idle;
}

constexpr absl::string_view kCache = "filter.cache.enabled";

// Only who knows the method can say that its answers may be given twice.
void KeepFromTheCache(const Method& method, MethodSettings& settings) {
  if (!settings.cache.enabled || settings.retry.idempotent.value_or(method.idempotent)) return;
  const auto origin = settings.origins.find(kCache);
  if (origin == settings.origins.end()) return;
  const Source source = origin->second.source;
  if (source != Source::kProtoService && source != Source::kYamlGlobal &&
      source != Source::kYamlService) {
    return;
  }
  settings.cache.enabled = false;
  origin->second = {.source = Source::kIdempotencyLevel, .value = "false"};
}

EffectivePolicy Compose(const Method& method, const std::string& name,
                        const std::string& own_policy, const Settings& settings,
                        const CodePolicies& code) {
  EffectivePolicy policy;
  std::string report;
  policy.settings = settings.ForMethod(method.service, name);
  FindChangesByCode(policy.settings);
  ApplyCode(method.service, name, settings, code, policy.settings, report);
  ApplyProto(method, own_policy, settings, policy.settings, report);
  KeepFromTheCache(method, policy.settings);
  policy.warnings = IdleBreakerKeys(policy.settings);
  if (!report.empty()) policy.status = absl::InvalidArgumentError(report);
  return policy;
}

std::string InWords(const ValueOrigin& origin, const std::string& file) {
  const auto yaml = [&](Level level) {
    return absl::StrCat(file,
                        origin.line > 0 ? absl::StrCat(":", origin.line, ":", origin.column) : "",
                        ", ", LevelName(level));
  };
  switch (origin.source) {
    case Source::kDefault:
      return "default";
    case Source::kIdempotencyLevel:
      return ".proto, option idempotency_level";
    case Source::kProtoService:
      return ".proto, option (marpc.service)";
    case Source::kProtoMethod:
      return ".proto, option (marpc.method)";
    case Source::kYamlGlobal:
      return yaml(Level::kGlobal);
    case Source::kYamlService:
      return yaml(Level::kService);
    case Source::kYamlMethod:
      return yaml(Level::kMethod);
    case Source::kCode:
      return "code";
  }
  return "?";
}

}  // namespace

EffectivePolicy EffectivePolicyOf(const Method& method, const Settings& settings,
                                  const CodePolicies& code) {
  return Compose(method, method.name, method.policy, settings, code);
}

bool LeftOutOfTheCache(const MethodSettings& settings) {
  const auto origin = settings.origins.find(kCache);
  return origin != settings.origins.end() && origin->second.source == Source::kIdempotencyLevel;
}

MethodSettings ServicePolicyOf(const Method& method, const Settings& settings,
                               const CodePolicies& code) {
  return Compose(method, "", "", settings, code).settings;
}

absl::Status CheckCodePolicies(const CodePolicies& code, const Settings& settings) {
  std::string report;
  for (const auto& [name, text] : code) {
    Faults faults;
    MethodSettings ignored;
    ApplyPolicyText(text, LevelOf(name), Source::kCode, &settings.retry_policies, ignored, faults);
    Report(absl::StrCat("ConsumerOptions::policies of ", name), faults, report);
  }
  return report.empty() ? absl::OkStatus() : absl::InvalidArgumentError(report);
}

const PolicyDescription::Entry* PolicyDescription::Find(absl::string_view key) const {
  for (const std::vector<Entry>* group : {&entries, &service_entries}) {
    for (const Entry& entry : *group) {
      if (entry.key == key) return &entry;
    }
  }
  return nullptr;
}

std::string PolicyDescription::ToText() const {
  size_t key_width = 0;
  size_t value_width = 0;
  for (const std::vector<Entry>* group : {&entries, &service_entries}) {
    for (const Entry& entry : *group) {
      key_width = std::max(key_width, entry.key.size());
      value_width = std::max(value_width, entry.value.size());
    }
  }
  std::string text;
  const auto append = [&](absl::string_view title, const std::vector<Entry>& group) {
    absl::StrAppend(&text, title, "\n");
    for (const Entry& entry : group) {
      absl::StrAppend(&text, "  ", entry.key, std::string(key_width - entry.key.size() + 2, ' '),
                      entry.value, std::string(value_width - entry.value.size() + 2, ' '),
                      entry.from, "\n");
    }
  };
  append(method, entries);
  append(absl::StrCat("service ", service), service_entries);
  if (!status.ok()) absl::StrAppend(&text, "cannot be put in force: ", status.message(), "\n");
  return text;
}

PolicyDescription DescribePolicy(const Method& method, MethodSettings own,
                                 const Settings& settings) {
  PolicyDescription description;
  description.method = method.full_name;
  description.service = method.service;
  const std::string file = settings.source.empty() ? "YAML" : settings.source;
  const auto finish = [&](PolicyDescription::Entry& entry) {
    entry.from = InWords(entry.origin, file);
    if (!entry.origin.policy.empty()) {
      absl::StrAppend(&entry.from, ", by retry policy ", Quote(entry.origin.policy));
    }
  };
  for (const auto& [key, by_default] : MethodKeys()) {
    PolicyDescription::Entry& entry = description.entries.emplace_back();
    entry.key = key->name;
    entry.value = key->show(Place::OfMethod(own));
    const auto given = own.origins.find(key->name);
    if (given != own.origins.end()) {
      entry.origin = given->second;
    } else if (key->name == "retry.idempotent" && method.idempotent) {
      entry.value = "true";
      entry.origin.source = Source::kIdempotencyLevel;
    }
    finish(entry);
  }
  ServiceSettings of_service = settings.ForService(method.service);
  const Origins& origins = settings.ForMethod(method.service, "").origins;
  const Place place = {nullptr, &of_service, &own};
  for (const PolicyKey& one : ServiceKeys()) {
    PolicyDescription::Entry& entry = description.service_entries.emplace_back();
    entry.key = one.key->name;
    entry.value = one.key->show(place);
    const auto given = origins.find(entry.key);
    if (ChangedByCode(one, entry.value, origins)) {
      entry.origin.source = Source::kCode;
    } else if (given != origins.end()) {
      entry.origin = given->second;
    }
    finish(entry);
  }
  return description;
}

}  // namespace marpc
