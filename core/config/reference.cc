#include "marpc/config/reference.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "marpc/config/keys.h"

namespace marpc {
namespace {

constexpr absl::string_view kIntroduction = R"(# Configuration reference

<!-- Written by tools/config-reference from core/config/key_table.cc; changes here are lost. -->

Everything stands below `marpc:` at the top of a YAML file. [config/consumer.yaml](../config/consumer.yaml) and
[config/provider.yaml](../config/provider.yaml) show every key in its place, and
[config/original.yaml](../config/original.yaml) is the example of the original marpc, which loads unchanged.

```yaml
marpc:
  registry: {address: "zookeeper://zk1:2181,zk2:2181/marpc"}
  retry: {maxRetries: 2, timeout: 500ms}
  services:
    demo.OrderService:               # starts from the values above
      circuitbreaker: {enabled: true}
      methods:
        Create:                      # starts from its service's values
          retry: {maxRetries: 0}
```

**Names.** `retry.maxRetries: 2` is the same as `maxRetries: 2` below `retry:`. A key that marpc does not know, or that is
given twice, is an error that says where, and which key was probably meant. Keys at the top of the file that begin with
`x-` are left alone: a place for YAML anchors. Aliases (`*name`) and merges (`<<: *name`) work.

**Levels.** *global*: below `marpc:`. *service*: below `services:` and the service's full name too. *method*: below
`methods:` of a service and the method's short name too.

**Values.** A duration is `250ms`, `3s` or `1m30s`; a bare number is milliseconds (but seconds for
`circuitbreaker.windowSize`). A size is `64KiB`, `4MiB`, `1GiB`; a bare number is bytes. `true` and `false` may be written
`yes`, `on`, `no` and `off`. A status code is gRPC's name for it, such as `NOT_FOUND`.

**Named retry policies.** `retryPolicies: {aggressive: {maxRetries: 4}}` beside `services:` names a set of keys that may
stand below `retry`; `retry: {policy: aggressive, timeout: 1s}` at any level starts from it, and the keys beside it change
it. Always there: `retry-on-error` (every failure is retried twice), `backoff-on-error` (the same, after 100 ms and more),
`retry-on-falsy` (an answer with nothing in it is asked for twice more, a failure is not) and `backoff-on-falsy`.

**Environment.** `${NAME}` in a value is replaced by the environment variable, `${NAME:default}` by the default where it is
not set; without a default that is an error. `$$` is a plain `$`.

**Faults.** All faults of a file are reported at once, one a line, and nothing of a faulty file takes effect:

```
consumer.yaml:14:5: unknown key 'maxRetry' under marpc.retry; did you mean 'maxRetries'?
consumer.yaml:17:12: marpc.router.gray.ratio: expected a whole number from 0 to 100, got '101'
```
)";

// `retry` of retry.backoff.initial; keys without a group stand together.
std::string GroupOf(const Key& key) {
  const size_t dot = key.name.find('.');
  return dot == std::string::npos ? "" : key.name.substr(0, dot);
}

std::string Levels(const Key& key) {
  const auto name = [](std::string* out, Level level) {
    absl::StrAppend(out, level == Level::kGlobal    ? "global"
                         : level == Level::kService ? "service"
                                                    : "method");
  };
  return absl::StrJoin(key.levels, ", ", name);
}

std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Row(const Key& key) {
  Settings defaults;
  std::string value = key.show(Place::Global(defaults));
  // What is no value but says what holds without one stands as it is.
  const bool words = absl::StrContains(value, ' ') || value == "none";
  if (value == "''")
    value = "empty";
  else if (!words)
    value = absl::StrCat("`", value, "`");
  return absl::StrCat("| `", key.name, "` | ", Cell(key.type), " | ", Cell(value), " | ",
                      Levels(key), " | ", Cell(key.help), " Example: `", Cell(key.example),
                      "` |\n");
}

}  // namespace

std::string ConfigReference() {
  std::vector<std::string> groups;
  for (const Key& key : Keys()) {
    const std::string group = GroupOf(key);
    bool known = false;
    for (const std::string& other : groups) known = known || other == group;
    if (!known) groups.push_back(group);
  }
  std::string page(kIntroduction);
  for (const std::string& group : groups) {
    absl::StrAppend(&page, "\n## ", group.empty() ? "Keys without a group" : group,
                    "\n\n| key | type | default | levels | meaning |\n|---|---|---|---|---|\n");
    for (const Key& key : Keys()) {
      if (GroupOf(key) == group) page += Row(key);
    }
  }
  return page;
}

}  // namespace marpc
