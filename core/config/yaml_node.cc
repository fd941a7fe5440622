#include "marpc/config/yaml_node.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace marpc {
namespace {

constexpr int kMaxDepth = 32;
constexpr int64_t kMaxValues = 100'000;
constexpr absl::string_view kMergeKey = "<<";

using NodePtr = std::shared_ptr<const YamlNode>;

Mark ToMark(const YAML::Mark& mark) { return Mark{mark.line + 1, mark.column + 1}; }

// Good YAML, but nothing to go on with.
class Refusal : public std::runtime_error {
 public:
  Refusal(const YAML::Mark& mark, const std::string& message)
      : std::runtime_error(message), mark(ToMark(mark)) {}
  const Mark mark;
};

// Builds the tree from yaml-cpp's events, through which a Refusal passes to ParseYaml().
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Faults& faults) : faults_(faults) {}

  NodePtr root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Make(YamlNode::Kind::kNull, mark), anchor, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(tag, mark);
    auto node = Make(YamlNode::Kind::kScalar, mark);
    node->scalar = value;
    Add(std::move(node), anchor, mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      throw Refusal(mark, "the alias stands inside the value that it repeats");
    }
    Add(known->second, YAML::NullAnchor, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    CheckTag(tag, mark);
    Open(Make(YamlNode::Kind::kList, mark), anchor, mark);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    CheckTag(tag, mark);
    Open(Make(YamlNode::Kind::kMap, mark), anchor, mark);
  }
  void OnMapEnd() override {
    Merge(open_.back());
    Close();
  }

 private:
  struct OpenNode {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    // Of a map: the key whose value comes next, and the places of those that came.
    bool has_key = false;
    std::string key;
    Mark key_mark;
    std::map<std::string, Mark> seen;
    std::vector<NodePtr> merged;
  };

  static std::shared_ptr<YamlNode> Make(YamlNode::Kind kind, const YAML::Mark& mark) {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->mark = ToMark(mark);
    return node;
  }

  static void CheckTag(const std::string& tag, const YAML::Mark& mark) {
    // "?" is plain, "!" quoted.
    if (tag.empty() || tag == "?" || tag == "!" || absl::StartsWith(tag, "tag:yaml.org,2002:"))
      return;
    throw Refusal(mark, "tags have no meaning here");
  }

  void Open(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (static_cast<int>(open_.size()) >= kMaxDepth) ThrowTooDeep(mark);
    OpenNode& open = open_.emplace_back();
    open.node = std::move(node);
    open.anchor = anchor;
    open.mark = mark;
  }

  void Close() {
    OpenNode closed = std::move(open_.back());
    open_.pop_back();
    Add(std::move(closed.node), closed.anchor, closed.mark);
  }

  [[noreturn]] static void ThrowTooDeep(const YAML::Mark& mark) {
    throw Refusal(mark, absl::StrCat("nested more than ", kMaxDepth, " levels deep"));
  }

  void Add(NodePtr node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    OpenNode& parent = open_.back();
    parent.node->depth = std::max(parent.node->depth, node->depth + 1);
    if (parent.node->depth > kMaxDepth) ThrowTooDeep(mark);
    CountValues(parent, node->size);
    if (parent.node->kind == YamlNode::Kind::kList) {
      parent.node->items.push_back(std::move(node));
    } else if (!parent.has_key) {
      if (node->kind != YamlNode::Kind::kScalar) {
        throw Refusal(mark, absl::StrCat("a key is text, not ", KindName(node->kind)));
      }
      parent.has_key = true;
      parent.key = node->scalar;
      parent.key_mark = ToMark(mark);
    } else {
      parent.has_key = false;
      AddEntry(parent, std::move(node));
    }
  }

  // Bounds what walking through all aliases costs: ten lines can hold a billion values.
  static void CountValues(OpenNode& parent, int64_t more) {
    parent.node->size += more;
    if (parent.node->size > kMaxValues) {
      throw Refusal(parent.mark, absl::StrCat("more than ", kMaxValues,
                                              " values, with those that aliases repeat"));
    }
  }

  void AddEntry(OpenNode& map, NodePtr value) {
    if (map.key == kMergeKey) {
      if (value->kind == YamlNode::Kind::kList) {
        map.merged.insert(map.merged.end(), value->items.begin(), value->items.end());
      } else {
        map.merged.push_back(std::move(value));
      }
      return;
    }
    const auto [first, is_new] = map.seen.emplace(map.key, map.key_mark);
    if (!is_new) {
      faults_.Add(map.key_mark,
                  absl::StrCat("key ", Quote(map.key), " is given twice: here and in line ",
                               first->second.line));
      return;
    }
    map.node->entries.push_back({std::move(map.key), map.key_mark, std::move(value)});
  }

  // A map's own keys win over merged ones, and earlier merged maps over later ones.
  void Merge(OpenNode& map) {
    for (const NodePtr& source : map.merged) {
      if (source->kind != YamlNode::Kind::kMap) {
        faults_.Add(source->mark,
                    absl::StrCat("only a map can be merged by '<<', not ", KindName(source->kind)));
        continue;
      }
      for (const YamlNode::Entry& entry : source->entries) {
        if (!map.seen.emplace(entry.key, entry.key_mark).second) continue;
        CountValues(map, entry.value->size);
        map.node->entries.push_back(entry);
      }
    }
  }

  Faults& faults_;
  NodePtr root_;
  std::vector<OpenNode> open_;
  std::unordered_map<YAML::anchor_t, NodePtr> anchors_;
};

// yaml-cpp takes what is no text at all for odd scalars.
bool CheckText(absl::string_view text, Faults& faults) {
  if (text.size() > kMaxYamlBytes) {
    faults.Add({},
               absl::StrCat("is larger than ", kMaxYamlBytes >> 20, " MiB, the most that is read"));
    return false;
  }
  int line = 1;
  for (absl::string_view rest = text; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (!IsText(rest.substr(0, end))) {
      faults.Add({line, 1}, "not UTF-8 text: this line holds other bytes or control characters");
      return false;
    }
    rest.remove_prefix(end);
  }
  return true;
}

// yaml-cpp's words for it do not help anyone who does not know of it.
std::string TabHint(absl::string_view text, const YAML::Mark& mark) {
  for (int line = 0; line < mark.line && !text.empty(); ++line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const absl::string_view indent = text.substr(0, text.find_first_not_of(" \t"));
  return absl::StrContains(indent, '\t') ? " (the line is indented by a tab; YAML takes spaces)"
                                         : "";
}

}  // namespace

absl::string_view KindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "?";
}

bool IsText(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      const bool blank = byte == '\n' || byte == '\r' || byte == '\t';
      if ((byte < 0x20 && !blank) || byte == 0x7f) return false;
      ++i;
      continue;
    }
    const size_t more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    uint32_t point = byte & (0x3fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(i + k < text.size() ? text[i + k] : 0);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fu);
    }
    // The shortest form only, no surrogates, nothing beyond Unicode.
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (byte < 0xc2 || byte > 0xf4 || point < kLeast[more] || point > 0x10ffff ||
        (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
    i += 1 + more;
  }
  return true;
}

std::shared_ptr<const YamlNode> ParseYaml(absl::string_view text, Faults& faults) {
  if (!CheckText(text, faults)) return nullptr;
  try {
    // yaml-cpp lets the end of the file close a quote that is open; the end of a document does not.
    std::istringstream stream(absl::StrCat(text, "\n...\n"));
    YAML::Parser parser(stream);
    TreeBuilder document(faults);
    if (!parser.HandleNextDocument(document)) return nullptr;
    TreeBuilder next(faults);
    if (parser.HandleNextDocument(next)) {
      faults.Add(next.root() == nullptr ? Mark{} : next.root()->mark,
                 "a second document begins; a file holds one");
      return nullptr;
    }
    return document.root();
  } catch (const Refusal& e) {
    faults.Add(e.mark, e.what());
  } catch (const YAML::Exception& e) {
    const bool placed = !e.mark.is_null();
    faults.Add(placed ? ToMark(e.mark) : Mark{},
               absl::StrCat("not valid YAML: ", e.msg, placed ? TabHint(text, e.mark) : ""));
  } catch (const std::exception& e) {
    faults.Add({}, absl::StrCat("cannot be read as YAML: ", e.what()));
  }
  return nullptr;
}

}  // namespace marpc
