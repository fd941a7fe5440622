#include "tests/vectors/vector_case.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace marpc::vectors {
namespace {

constexpr char kOneOf[] = "one of";
constexpr char kContaining[] = "text";

// Fractions are not written to their last digit.
bool IsAboutTheSame(double got, double expect) {
  return std::abs(got - expect) <= 1e-6 + 1e-12 * std::abs(expect);
}

bool Matches(const Json& got, const Json& expect) {
  if (got.is_object() && got.size() == 1 && got.contains(kOneOf)) {
    const Json& texts = got[kOneOf];
    return std::find(texts.begin(), texts.end(), expect) != texts.end();
  }
  if (got.is_object() && got.size() == 1 && got.contains(kContaining)) {
    return expect.is_string() && got[kContaining].get_ref<const std::string&>().find(
                                     expect.get_ref<const std::string&>()) != std::string::npos;
  }
  if (got.is_number_float() || expect.is_number_float()) {
    return got.is_number() && expect.is_number() &&
           IsAboutTheSame(got.get<double>(), expect.get<double>());
  }
  return got == expect;
}

bool EntryMatches(const Json& got, const Json& expect) {
  if (expect.is_null() || Matches(got, expect)) return true;
  if (!expect.is_object() || !got.is_object()) return false;
  return std::all_of(expect.items().begin(), expect.items().end(), [&](const auto& item) {
    return got.contains(item.key()) && Matches(got[item.key()], item.value());
  });
}

}  // namespace

void CheckKeys(const Json& object, absl::string_view what,
               std::initializer_list<absl::string_view> known) {
  for (const auto& item : object.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    throw Unmapped(absl::StrCat(what, " has the key '", item.key(),
                                "', which is not mapped; known: ", absl::StrJoin(known, ", ")));
  }
}

Json OneOf(std::initializer_list<std::string> texts) {
  return Json{{kOneOf, std::vector<std::string>(texts)}};
}

Json Containing(std::string text) { return Json{{kContaining, std::move(text)}}; }

std::string Difference(const Json& got, const Json& expect) {
  if (!expect.is_array()) return "'expect' is no list";
  if (got.size() != expect.size()) {
    return absl::StrCat("got ", got.size(), " entries expected ", expect.size());
  }
  for (size_t i = 0; i < expect.size(); ++i) {
    if (EntryMatches(got[i], expect[i])) continue;
    return absl::StrCat("event ", i + 1, ": got ", got[i].dump(), " expected ", expect[i].dump());
  }
  return "";
}

}  // namespace marpc::vectors
