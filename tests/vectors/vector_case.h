// One line of a vector file, and what marpc answers to it.
#ifndef MARPC_TESTS_VECTORS_VECTOR_CASE_H_
#define MARPC_TESTS_VECTORS_VECTOR_CASE_H_

#include <initializer_list>
#include <stdexcept>
#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace marpc::vectors {

using Json = nlohmann::json;

struct VectorCase {
  std::string id;
  std::string area;
  std::string kind;
  Json config;
  Json input;
  Json expect;
};

// The line asks for something that the reader has not mapped: never passed over in silence.
struct Unmapped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Unmapped when `object` has a key that is not among `known`.
void CheckKeys(const Json& object, absl::string_view what,
               std::initializer_list<absl::string_view> known);

// Answers that have more than one right spelling.
//
// Any of the texts.
Json OneOf(std::initializer_list<std::string> texts);
// Any text that is a part of this one.
Json Containing(std::string text);

// "" when `got` is what `expect` asks for; else what differs: "event 2: got … expected …". Both are
// lists with one entry an event. An expected null asserts nothing, an expected object asserts only
// the keys that it has.
std::string Difference(const Json& got, const Json& expect);

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_VECTOR_CASE_H_
