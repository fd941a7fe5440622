#include "marpc/config/assignments.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace marpc {
namespace {

constexpr absl::string_view kRoot = "marpc";
constexpr absl::string_view kServices = "services";
constexpr absl::string_view kMethods = "methods";
constexpr absl::string_view kPolicies = "retryPolicies";
constexpr absl::string_view kRetry = "retry";

using Entry = YamlNode::Entry;

std::string Join(absl::string_view group, absl::string_view name) {
  if (group.empty()) return std::string(name);
  return name.empty() ? std::string(group) : absl::StrCat(group, ".", name);
}

// Words separated by dots, as protobuf names its services.
bool IsProtobufName(absl::string_view name) {
  bool word_begins = true;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.' ? word_begins
                 : c != '_' && !absl::ascii_isalpha(byte) &&
                       (word_begins || !absl::ascii_isdigit(byte))) {
      return false;
    }
    word_begins = c == '.';
  }
  return !word_begins;
}

// provider.metadata of provider.metadata.team: maps whose entries have names of the user's own,
// which may hold dots themselves. Empty: `name` is not below one.
std::string MapWithOwnNames(absl::string_view name) {
  for (size_t dot = name.find('.'); dot != absl::string_view::npos; dot = name.find('.', dot + 1)) {
    const absl::string_view map = name.substr(0, dot);
    if (map == kServices || map == kMethods || FindKey(map) != nullptr) return std::string(map);
  }
  return "";
}

// A slip of indentation puts a key below the wrong one.
std::string KeyElsewhere(absl::string_view name, Level level) {
  for (const Key& key : Keys()) {
    if (key.AllowedAt(level) &&
        (key.name == name || absl::EndsWith(key.name, absl::StrCat(".", name)))) {
      return absl::StrCat("; did you mean '", key.name, "'?");
    }
  }
  return "";
}

class Collector {
 public:
  explicit Collector(Faults& faults) : faults_(faults) {}

  FileAssignments Collect(const YamlNode* root);
  // The policy of a method or a service, or (`group` is "retry") a retry policy.
  AssignmentGroup CollectGroup(const YamlNode* root, Level level, const std::string& group,
                               std::string path);

 private:
  // The level that is being read, and where its assignments go.
  struct Scope {
    Level level;
    AssignmentGroup* target;
    FileAssignments::Service* service;  // at a service's level of a file
    // Keys of this group stand without its name: `retry` in a policy.
    std::string unwritten = "";
  };
  // The path of `group` as the file writes it.
  static std::string Written(const Scope& scope, const std::string& group) {
    absl::string_view rest = group;
    if (!scope.unwritten.empty() && absl::ConsumePrefix(&rest, scope.unwritten)) {
      absl::ConsumePrefix(&rest, ".");
    }
    return Join(scope.target->path, rest);
  }

  void VisitTop(const Entry& entry);
  // Reads the entries of `map`, which stands at `group` ("" or "retry.budget") of the scope.
  void VisitMap(const YamlNode& map, const std::string& group, const Scope& scope);
  void Visit(const Entry& entry, const std::string& group, const Scope& scope);
  void VisitKey(const Key& key, const Entry& entry, const Scope& scope);
  void VisitServices(const YamlNode& services);
  void VisitMethods(const YamlNode& methods, const Scope& service);
  void VisitPolicies(const YamlNode& policies);
  // The map of `what`; null after the fault was reported, and for nothing at all, which says
  // nothing.
  const YamlNode* MapOrNothing(const YamlNode& node, absl::string_view what);
  void ReportUnknown(const Entry& entry, const std::string& group, const Scope& scope);

  Faults& faults_;
  FileAssignments found_;
  bool has_root_ = false;
};

FileAssignments Collector::Collect(const YamlNode* root) {
  found_.global.path = std::string(kRoot);
  if (root != nullptr && root->kind == YamlNode::Kind::kMap) {
    for (const Entry& entry : root->entries) VisitTop(entry);
  } else if (root != nullptr && root->kind != YamlNode::Kind::kNull) {
    faults_.Add(root->mark, absl::StrCat("a configuration is a map with 'marpc:' at the top, not ",
                                         KindName(root->kind)));
    return std::move(found_);
  }
  if (!has_root_ && faults_.empty()) {
    faults_.Add({}, "has no 'marpc:' at the top; 'marpc:' with nothing below it is all defaults");
  }
  return std::move(found_);
}

void Collector::VisitTop(const Entry& entry) {
  const Scope global{Level::kGlobal, &found_.global, nullptr};
  absl::string_view rest = entry.key;
  if (rest == kRoot) {
    has_root_ = true;
    if (const YamlNode* map = MapOrNothing(*entry.value, kRoot)) VisitMap(*map, "", global);
  } else if (absl::ConsumePrefix(&rest, "marpc.")) {
    has_root_ = true;
    Visit({std::string(rest), entry.key_mark, entry.value}, "", global);
  } else if (!absl::StartsWith(rest, "x-")) {
    faults_.Add(entry.key_mark,
                absl::StrCat("unknown key ", Quote(rest), " at the top of the file",
                             NearestOrKnown(rest, {std::string(kRoot)}),
                             " (keys that begin with x- are yours: marpc leaves them alone)"));
  }
}

void Collector::VisitMap(const YamlNode& map, const std::string& group, const Scope& scope) {
  for (const Entry& entry : map.entries) {
    if (faults_.full()) return;
    Visit(entry, group, scope);
  }
}

void Collector::Visit(const Entry& entry, const std::string& group, const Scope& scope) {
  const std::string name = Join(group, entry.key);
  if (const Key* key = FindKey(name)) return VisitKey(*key, entry, scope);
  if (!entry.key.empty() && IsKeyGroup(name)) {
    const YamlNode* map = MapOrNothing(*entry.value, Written(scope, name));
    if (map != nullptr) VisitMap(*map, name, scope);
    return;
  }
  if (group.empty() && name == kServices && scope.level == Level::kGlobal) {
    return VisitServices(*entry.value);
  }
  if (group.empty() && name == kPolicies && scope.level == Level::kGlobal) {
    return VisitPolicies(*entry.value);
  }
  if (group.empty() && name == kMethods && scope.service != nullptr) {
    return VisitMethods(*entry.value, scope);
  }
  // router.gray.ration: say what is wrong below the part that is right.
  const size_t dot = entry.key.rfind('.');
  if (dot != std::string::npos) {
    const std::string inner = Join(group, entry.key.substr(0, dot));
    if (IsKeyGroup(inner)) {
      return ReportUnknown({entry.key.substr(dot + 1), entry.key_mark, entry.value}, inner, scope);
    }
  }
  ReportUnknown(entry, group, scope);
}

void Collector::VisitKey(const Key& key, const Entry& entry, const Scope& scope) {
  const bool policy = scope.level == Level::kService && scope.service == nullptr;
  if (!key.AllowedAt(scope.level) || (policy && !key.of_method)) {
    const std::string allowed = absl::StrJoin(key.levels, ", ", [](std::string* out, Level level) {
      absl::StrAppend(out, LevelName(level));
    });
    const std::string here = policy                       ? "in the policy of a service"
                             : scope.target->path.empty() ? std::string(LevelName(scope.level))
                                                          : "under " + scope.target->path;
    faults_.Add(entry.key_mark, absl::StrCat(key.name, " may not stand ", here,
                                             "; allowed: ", policy ? "in YAML, " : "", allowed));
    return;
  }
  // Once as retry.maxRetries and once below retry: (the same form twice was found by the YAML
  // parser).
  if (const Assignment* first = scope.target->Find(key.name)) {
    faults_.Add(entry.key_mark,
                absl::StrCat("key '", key.name, "' is given twice under ", scope.target->path,
                             ": here and in line ", first->mark.line));
    return;
  }
  scope.target->assignments.push_back({&key, entry.key_mark, entry.value});
}

void Collector::VisitServices(const YamlNode& services) {
  const YamlNode* map = MapOrNothing(services, "marpc.services");
  if (map == nullptr) return;
  for (const Entry& entry : map->entries) {
    if (faults_.full()) return;
    if (!IsProtobufName(entry.key)) {
      faults_.Add(entry.key_mark,
                  absl::StrCat("a service has a full name such as demo.HelloService, not ",
                               Quote(entry.key)));
      continue;
    }
    FileAssignments::Service& service = found_.services[entry.key];
    service.own.path = absl::StrCat("marpc.services.", entry.key);
    const YamlNode* own = MapOrNothing(*entry.value, service.own.path);
    if (own != nullptr) VisitMap(*own, "", {Level::kService, &service.own, &service});
  }
}

void Collector::VisitMethods(const YamlNode& methods, const Scope& service) {
  const std::string path = Join(service.target->path, kMethods);
  const YamlNode* map = MapOrNothing(methods, path);
  if (map == nullptr) return;
  for (const Entry& entry : map->entries) {
    if (faults_.full()) return;
    if (!IsProtobufName(entry.key) || absl::StrContains(entry.key, '.')) {
      faults_.Add(entry.key_mark,
                  absl::StrCat("a method has a short name such as Hello, not ", Quote(entry.key)));
      continue;
    }
    AssignmentGroup& method = service.service->methods[entry.key];
    method.path = Join(path, entry.key);
    const YamlNode* own = MapOrNothing(*entry.value, method.path);
    if (own != nullptr) VisitMap(*own, "", {Level::kMethod, &method, nullptr});
  }
}

void Collector::VisitPolicies(const YamlNode& policies) {
  const std::string path = Join(kRoot, kPolicies);
  const YamlNode* map = MapOrNothing(policies, path);
  if (map == nullptr) return;
  for (const Entry& entry : map->entries) {
    if (faults_.full()) return;
    found_.retry_policies[entry.key] =
        CollectGroup(entry.value.get(), Level::kMethod, std::string(kRetry), Join(path, entry.key));
  }
}

AssignmentGroup Collector::CollectGroup(const YamlNode* root, Level level, const std::string& group,
                                        std::string path) {
  AssignmentGroup found;
  found.path = std::move(path);
  const YamlNode* map = root == nullptr ? nullptr : MapOrNothing(*root, found.path);
  if (map != nullptr) VisitMap(*map, group, {level, &found, nullptr, group});
  if (const Assignment* nested = found.Find("retry.policy"); nested != nullptr && !group.empty()) {
    faults_.Add(nested->mark, absl::StrCat(found.path, ": a policy cannot be made of another one"));
  }
  return found;
}

const YamlNode* Collector::MapOrNothing(const YamlNode& node, absl::string_view what) {
  if (node.kind == YamlNode::Kind::kMap) return &node;
  if (node.kind != YamlNode::Kind::kNull) {
    faults_.Add(node.mark,
                absl::StrCat(what, ": expected a map of keys, got ", KindName(node.kind)));
  }
  return nullptr;
}

void Collector::ReportUnknown(const Entry& entry, const std::string& group, const Scope& scope) {
  const std::string where = Written(scope, group);
  const std::string map = MapWithOwnNames(Join(group, entry.key));
  if (!map.empty()) {
    faults_.Add(entry.key_mark, absl::StrCat("unknown key ", Quote(entry.key), " under ", where,
                                             "; ", map, " is a map: write its entries below it"));
    return;
  }
  std::vector<std::string> names = NamesBelow(group, scope.level);
  if (group.empty() && scope.level == Level::kGlobal) {
    names.emplace_back(kServices);
    names.emplace_back(kPolicies);
  }
  if (group.empty() && scope.service != nullptr) names.emplace_back(kMethods);
  std::string hint;
  if (!Nearest(entry.key, names).has_value()) hint = KeyElsewhere(entry.key, scope.level);
  if (hint.empty()) hint = NearestOrKnown(entry.key, std::move(names));
  faults_.Add(entry.key_mark,
              absl::StrCat("unknown key ", Quote(entry.key), " under ", where, hint));
}

}  // namespace

const Assignment* AssignmentGroup::Find(absl::string_view key) const {
  const auto it = std::find_if(assignments.begin(), assignments.end(),
                               [&](const Assignment& a) { return a.key->name == key; });
  return it == assignments.end() ? nullptr : &*it;
}

FileAssignments CollectAssignments(const std::shared_ptr<const YamlNode>& root, Faults& faults) {
  return Collector(faults).Collect(root.get());
}

AssignmentGroup CollectPolicy(const std::shared_ptr<const YamlNode>& root, Level level,
                              Faults& faults) {
  return Collector(faults).CollectGroup(root.get(), level, "", "");
}

AssignmentGroup CollectRetryPolicy(const std::shared_ptr<const YamlNode>& root, std::string path,
                                   Faults& faults) {
  return Collector(faults).CollectGroup(root.get(), Level::kMethod, std::string(kRetry),
                                        std::move(path));
}

}  // namespace marpc
