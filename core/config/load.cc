#include "marpc/config/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/config/assignments.h"
#include "marpc/config/combinations.h"
#include "marpc/config/faults.h"
#include "marpc/config/idle_alerts.h"
#include "marpc/config/idle_groups.h"
#include "marpc/config/keys.h"
#include "marpc/config/policy_text.h"
#include "marpc/config/retry_policies.h"
#include "marpc/config/yaml_node.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

// Of all values together. A key at the top is read once, and a named policy once for each who
// refers to it.
constexpr size_t kMaxFileBytesExpanded = 64 * kMaxYamlBytes;

class Loader {
 public:
  Loader(const LoadOptions& options, Faults& faults) : options_(options), faults_(faults) {}

  // A service starts from the values at the top, a method from its service's.
  Settings Resolve(const FileAssignments& file) {
    Settings settings;
    file_ = &file;
    settings.retry_policies = ReadPolicies(file);
    Apply(file.global, Place::Global(settings), Source::kYamlGlobal);
    CheckGlobal(file.global, settings, faults_);
    CheckService(file.global, settings.service_defaults, faults_);
    SharedRetryParts shared;
    CheckMethod(file.global, settings.method_defaults, faults_);
    CheckSharedParts(file.global, settings.method_defaults, shared, faults_);
    for (const auto& [service_name, from] : file.services) {
      Settings::PerService& service = settings.services[service_name];
      service.service = settings.service_defaults;
      service.method_defaults = settings.method_defaults;
      Apply(from.own, Place::OfService(service), Source::kYamlService);
      CheckService(from.own, service.service, faults_);
      CheckMethod(from.own, service.method_defaults, faults_);
      CheckSharedParts(from.own, service.method_defaults, shared, faults_);
      for (const auto& [method_name, own] : from.methods) {
        MethodSettings& method = service.methods[method_name];
        method = service.method_defaults;
        Apply(own, Place::OfMethod(method), Source::kYamlMethod);
        CheckMethod(own, method, faults_);
        CheckSharedParts(own, method, shared, faults_);
      }
    }
    return settings;
  }

 private:
  using Source = ValueOrigin::Source;

  // Each by itself, used or not.
  std::map<std::string, MethodSettings> ReadPolicies(const FileAssignments& file) {
    std::map<std::string, MethodSettings> policies;
    for (const auto& [name, policy] : file.retry_policies) {
      MethodSettings& settings = policies[name];
      ApplyOwn(policy, Place::OfMethod(settings), {.source = Source::kYamlGlobal, .policy = name});
      CheckMethod(policy, settings, faults_);
    }
    return policies;
  }

  // The named policy first, then what stands beside it.
  void Apply(const AssignmentGroup& group, Place place, Source level) {
    const Assignment* named = group.Find("retry.policy");
    if (named != nullptr && named->value->kind == YamlNode::Kind::kScalar) {
      const std::string& name = named->value->scalar;
      if (const AssignmentGroup* policy = FindRetryPolicy(*file_, name)) {
        Faults reported;  // once, where the policy is defined
        const ValueOrigin origin = {.source = level,
                                    .line = named->mark.line,
                                    .column = named->mark.column,
                                    .policy = name};
        Loader(options_, reported).ApplyOwn(*policy, place, origin);
      } else if (!name.empty()) {
        faults_.Add(named->value->mark,
                    absl::StrCat(group.path, ".retry.policy: no policy ", Quote(name),
                                 NearestOrKnown(name, PolicyNames())));
      }
    }
    ApplyOwn(group, place, {.source = level});
  }

  std::vector<std::string> PolicyNames() const {
    std::vector<std::string> names;
    for (const auto& [name, policy] : file_->retry_policies) names.push_back(name);
    for (const auto& [name, yaml] : ReadyMadeRetryPolicies()) names.push_back(name);
    return names;
  }

  void ApplyOwn(const AssignmentGroup& group, Place place, ValueOrigin origin) {
    for (const Assignment& assignment : group.assignments) {
      if (faults_.full()) return;
      const Key& key = *assignment.key;
      const std::string name = absl::StrCat(group.path, ".", key.name);
      ReadContext context{name, key.secret, options_.known, faults_};
      if (assignment.value->kind == YamlNode::Kind::kNull) {
        faults_.Add(assignment.value->mark,
                    absl::StrCat(name, ": has no value; expected ", key.expected,
                                 " (leave the key out for the default)"));
        continue;
      }
      YamlNode value = *assignment.value;
      if (!Expand(value, context) || !key.read(value, context, place)) continue;
      if (assignment.mark.line > 0) {  // a ready-made policy is in no file
        origin.line = assignment.mark.line;
        origin.column = assignment.mark.column;
      }
      if (key.of_method || key.AllowedAt(Level::kService)) NoteOrigin(key, origin, place);
    }
  }

  // Replaces `${NAME}` in all the text of `node`.
  bool Expand(YamlNode& node, ReadContext& context) {
    bool all = true;
    if (node.kind == YamlNode::Kind::kScalar) {
      absl::StatusOr<std::string> expanded = ExpandEnvironment(node.scalar, options_.environment);
      if (expanded.ok()) expanded_bytes_ += expanded->size();
      if (expanded_bytes_ > kMaxFileBytesExpanded) {
        expanded = absl::InvalidArgumentError(
            absl::StrCat("with its environment variables the file is longer than ",
                         kMaxFileBytesExpanded, " bytes"));
      }
      if (expanded.ok() && !IsText(*expanded)) {
        expanded = absl::InvalidArgumentError(
            "the value is not text: it is not UTF-8, or holds control characters");
      }
      if (expanded.ok()) {
        node.scalar = *std::move(expanded);
        return true;
      }
      // What looks like a variable's name inside a secret may be a part of the secret.
      const bool showable = !context.secret || absl::StartsWith(node.scalar, "${");
      faults_.Add(
          node.mark,
          absl::StrCat(context.key, ": ",
                       showable
                           ? expanded.status().message()
                           : "a '${...}' in it cannot be replaced; write '$$' for a plain '$'"));
      return false;
    }
    const auto expand_copy = [&](std::shared_ptr<const YamlNode>& child) {
      auto copy = std::make_shared<YamlNode>(*child);
      all = Expand(*copy, context) && all;
      child = std::move(copy);
    };
    for (auto& item : node.items) expand_copy(item);
    for (YamlNode::Entry& entry : node.entries) expand_copy(entry.value);
    return all;
  }

  const LoadOptions& options_;
  Faults& faults_;
  const FileAssignments* file_ = nullptr;
  size_t expanded_bytes_ = 0;
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // One byte too many tells the parser that the file is too large.
  std::string text(kMaxYamlBytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open() || (file.gcount() == 0 && errno != 0)) {
    return absl::NotFoundError(absl::StrCat("cannot read the configuration file '", path, "': ",
                                            errno != 0 ? std::strerror(errno) : "read error"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

absl::StatusOr<Settings> LoadSettings(const std::string& path, const LoadOptions& options) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseSettings(*text, path, options);
}

absl::StatusOr<Settings> ParseSettings(absl::string_view yaml, absl::string_view name,
                                       const LoadOptions& options) {
  Faults faults;
  const std::shared_ptr<const YamlNode> document = ParseYaml(yaml, faults);
  // A document that could not be made sense of says nothing about its keys.
  if (document == nullptr && !faults.empty()) return faults.ToStatus(name);
  const FileAssignments file = CollectAssignments(document, faults);
  Settings settings = Loader(options, faults).Resolve(file);
  if (!faults.empty()) return faults.ToStatus(name);
  settings.source = std::string(name);
  std::vector<std::string> warnings = Warnings(settings);
  absl::c_move(WarnOfIdleGroups(file, settings), std::back_inserter(warnings));
  absl::c_move(WarnOfIdleAlerts(settings), std::back_inserter(warnings));
  for (std::string& warning : warnings) {
    if (options.warnings != nullptr) {
      options.warnings->push_back(std::move(warning));
    } else {
      Logger()->warn("event=config file={} warning=\"{}\"", std::string(name), warning);
    }
  }
  return settings;
}

}  // namespace marpc
