// A YAML document as the loader reads it: every value knows its place in the file, aliases and
// merges (`<<`) are resolved, and nothing was lost on the way (a key given twice is a fault, not
// the last one's win).
#ifndef MARPC_CONFIG_YAML_NODE_H_
#define MARPC_CONFIG_YAML_NODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/config/faults.h"

namespace marpc {

// Immutable once parsed; values that aliases repeat are shared.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry {
    std::string key;
    Mark key_mark;
    std::shared_ptr<const YamlNode> value;
  };

  Kind kind = Kind::kNull;
  Mark mark;
  std::string scalar;                                  // kScalar
  std::vector<std::shared_ptr<const YamlNode>> items;  // kList
  std::vector<Entry> entries;                          // kMap, in the order of the file
  // Levels below this one, through aliases too.
  int depth = 0;
  // Values in it, itself included and those of aliases counted each time.
  int64_t size = 1;
};

// "text", "a list", "a map", "nothing": for messages.
absl::string_view KindName(YamlNode::Kind kind);

// UTF-8 without control characters other than line ends and tabs.
bool IsText(absl::string_view text);

// The one document in `text`. What is wrong goes to `faults`; null when there is no document, or
// one that cannot be made sense of. Bounded in time and memory for any input: 1 MiB of text, 32
// levels, 10,000 merged entries.
std::shared_ptr<const YamlNode> ParseYaml(absl::string_view text, Faults& faults);

// The largest text that ParseYaml() reads.
inline constexpr size_t kMaxYamlBytes = 1 << 20;

}  // namespace marpc

#endif  // MARPC_CONFIG_YAML_NODE_H_
