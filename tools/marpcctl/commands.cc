#include "tools/marpcctl/commands.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "marpc/config/degradation_settings.h"
#include "marpc/config/faults.h"
#include "marpc/config/yaml_node.h"
#include "marpc/registry/breaker_name.h"
#include "marpc/registry/record.h"
#include "tools/marpcctl/service_list.h"

namespace marpc::ctl {
namespace {

using Words = std::vector<std::string>;

struct Command {
  const char* name;
  const char* arguments;
  const char* help;
  absl::StatusOr<Action> (*understand)(const Words& arguments);
  size_t fewest;
  size_t most;
};

// A change that is made is told, with a note where nobody may ever hear of it.
absl::Status Told(const Target& target, const std::string& service, absl::Status status,
                  const std::string& what) {
  if (!status.ok()) return status;
  target.out << what << " (" << target.where << ")\n";
  const auto list = ReadList(target.registry, service, target.timeout);
  if (list.ok() && (*list)->instances.empty()) {
    target.notes << "note: " << service
                 << " has no instance in this registry; is the name right?\n";
  }
  return absl::OkStatus();
}

constexpr char kNoInstance[] = " has no instance";
constexpr char kNoDirectives[] = " has no directives";

Action Reading(const std::string& service, const char* nothing, Action action) {
  action.reads = service;
  action.nothing = service + nothing;
  return action;
}

absl::StatusOr<Action> Instances(const Words& arguments) {
  const auto read = [service = arguments[0]](const Target& target) -> absl::Status {
    const auto list = ReadList(target.registry, service, target.timeout);
    if (!list.ok()) return list.status();
    if ((*list)->instances.empty()) {
      target.notes << service << kNoInstance << " (" << target.where << ")\n";
    } else {
      target.out << InstanceTable(**list);
    }
    return absl::OkStatus();
  };
  return Reading(arguments[0], kNoInstance, Action(read));
}

absl::StatusOr<Action> Gray(const Words& arguments) {
  const std::string& service = arguments[0];
  const std::string& verb = arguments[1];
  if (verb == "clear" && arguments.size() == 2) {
    return Action([service](const Target& target) {
      return Told(target, service, target.registry.ClearGray(service),
                  absl::StrCat("no instance of ", service, " is marked gray any more"));
    });
  }
  if (verb != "add" && verb != "remove" && verb != "clear") {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(verb), " is unknown", NearestOrKnown(verb, {"add", "remove", "clear"})));
  }
  if (verb == "clear" || arguments.size() != 3) {
    return absl::InvalidArgumentError(
        verb == "clear" ? "clear takes no endpoint: it removes all marks of the service"
                        : absl::StrCat(verb, " needs an endpoint, like 10.0.0.7:8080"));
  }
  const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(arguments[2]);
  if (!endpoint.ok()) return endpoint.status();
  return Action([service, endpoint = *endpoint, gray = verb == "add"](const Target& target) {
    return Told(target, service, target.registry.SetGray(service, endpoint, gray),
                absl::StrCat(endpoint.ToString(), " of ", service,
                             gray ? " is marked gray" : " is not marked gray any more"));
  });
}

absl::StatusOr<Action> Breaker(const Words& arguments) {
  const std::string service(ServiceOfBreaker(arguments[0]));
  const absl::StatusOr<std::string> right = ParseBreakerName(arguments[0]);
  const std::string name = right.value_or(arguments[0]);
  const std::string key = absl::StrCat(kBreakerDirective, name);
  const std::string& state = arguments[1];
  if (!IsText(arguments[0])) {
    return absl::InvalidArgumentError(absl::StrCat("breaker ", Shown(arguments[0]),
                                                   " is not UTF-8, or holds control characters"));
  }
  if (state == "CLOSED") {
    return Action([=, typed = absl::StrCat(kBreakerDirective, arguments[0])](const Target& target) {
      absl::Status status = target.registry.SetDirective(service, key, "");
      // Also a name that was never right, which other means may have written.
      if (status.ok() && typed != key) status = target.registry.SetDirective(service, typed, "");
      return Told(
          target, service, status,
          absl::StrCat("all consumers are told: breaker ", name, " goes by its calls again"));
    });
  }
  if (!right.ok()) return right.status();
  if (!CheckUnderstood(service, key, state).ok()) {
    const Words states = {"FORCED_OPEN", "DISABLED", "METRICS_ONLY", "CLOSED"};
    return absl::InvalidArgumentError(
        absl::StrCat("state ", Quote(state), " is unknown", NearestOrKnown(state, states)));
  }
  return Action([=](const Target& target) {
    return Told(target, service, target.registry.SetDirective(service, key, state),
                absl::StrCat("all consumers are told: breaker ", name, " is ", state,
                             " (one that has no such breaker warns of it)"));
  });
}

absl::StatusOr<Action> Level(const Words& arguments) {
  const std::string& service = arguments[0];
  const std::string& level = arguments[1];
  if (level == "clear") {
    return Action([=](const Target& target) {
      return Told(target, service, target.registry.SetDirective(service, kLevelDirective, ""),
                  absl::StrCat(service, " is at the level of each consumer's own settings"));
    });
  }
  if (!CheckUnderstood(service, kLevelDirective, level).ok()) {
    Words levels = {"clear"};
    for (const auto& [name, value] : kDegradationLevels) levels.emplace_back(name);
    return absl::InvalidArgumentError(
        absl::StrCat("level ", Quote(level), " is unknown", NearestOrKnown(level, levels)));
  }
  return Action([=](const Target& target) {
    return Told(target, service, target.registry.SetDirective(service, kLevelDirective, level),
                absl::StrCat("all consumers are told: ", service, " is at the level ", level));
  });
}

absl::StatusOr<Action> ShowDirectives(const Words& arguments) {
  const auto read = [service = arguments[0]](const Target& target) -> absl::Status {
    const auto list = ReadList(target.registry, service, target.timeout);
    if (!list.ok()) return list.status();
    const std::string bad = target.registry.state().bad_directives;
    if (!bad.empty()) {
      return absl::UnavailableError(absl::StrCat("the directives cannot be read: ", Shown(bad)));
    }
    if ((*list)->directives.empty()) {
      target.notes << service << kNoDirectives << " (" << target.where << ")\n";
    }
    for (const auto& [key, value] : (*list)->directives) {
      target.out << Shown(key) << " = " << Shown(value) << "\n";
    }
    return absl::OkStatus();
  };
  return Reading(arguments[0], kNoDirectives, Action(read));
}

constexpr Command kCommands[] = {
    {"instances", "SERVICE", "the instances that are registered", &Instances, 1, 1},
    {"gray", "SERVICE add|remove ENDPOINT", "mark an instance gray, or take the mark away", &Gray,
     2, 3},
    {"gray", "SERVICE clear", "take all of a service's gray marks away", &Gray, 2, 3},
    {"breaker", "NAME FORCED_OPEN|DISABLED|METRICS_ONLY|CLOSED",
     "force a breaker in all consumers; CLOSED takes it back", &Breaker, 2, 2},
    {"level", "SERVICE normal|degraded|core-only|clear",
     "the level of degradation in all consumers; clear takes it back", &Level, 2, 2},
    {"directives", "SERVICE", "what breaker and level have said", &ShowDirectives, 1, 1},
};

}  // namespace

absl::StatusOr<Action> Understand(const Words& words) {
  Words known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (words.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("which command? There are ", absl::StrJoin(known, ", ")));
  }
  const Words arguments(words.begin() + 1, words.end());
  for (const Command& command : kCommands) {
    if (words[0] != command.name) continue;
    if (arguments.size() < command.fewest || arguments.size() > command.most) {
      return absl::InvalidArgumentError(
          absl::StrCat("usage: marpcctl ", command.name, " ", command.arguments));
    }
    const std::string service(ServiceOfBreaker(arguments[0]));
    const bool of_breaker = command.understand == &Breaker;
    absl::Status named = CheckServiceName(of_breaker ? service : arguments[0]);
    if (!named.ok()) return named;
    return command.understand(arguments);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("command ", Quote(words[0]), " is unknown", NearestOrKnown(words[0], known)));
}

std::string Usage() {
  std::string text =
      "marpcctl --registry ADDRESS [--env ENV] COMMAND ...\n"
      "marpcctl --config FILE COMMAND ...\n"
      "\n"
      "Says something about a service to all of its consumers, through the registry.\n"
      "\n";
  for (const Command& command : kCommands) {
    absl::StrAppend(&text, "  ", command.name, " ", command.arguments, "\n      ", command.help,
                    "\n");
  }
  absl::StrAppend(
      &text,
      "\n"
      "  --registry ADDRESS  zookeeper://host:port,host:port/chroot or file:/folder\n"
      "  --env ENV           the environment; without it that of the file, or dev\n"
      "  --config FILE       the YAML of a process: its registry, environment and registry.auth\n"
      "\n"
      "A breaker is named demo.HelloService, demo.HelloService/Hello or\n"
      "demo.HelloService@10.0.0.7:8080. Ends with 0, with 1 where the registry refuses or does "
      "not\n"
      "answer, with 2 where the command is not understood.\n");
  return text;
}

}  // namespace marpc::ctl
