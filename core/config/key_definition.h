// How an entry of the key table is made of a field and a type; included by the table alone.
#ifndef MARPC_CONFIG_KEY_DEFINITION_H_
#define MARPC_CONFIG_KEY_DEFINITION_H_

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "marpc/config/keys.h"

namespace marpc {

// A field by the members that lead to it.
template <typename Owner, typename T>
struct Field {
  std::function<T&(Owner&)> in;
};
template <typename Owner, typename T>
Field<Owner, T> At(T Owner::*a) {
  return {[a](Owner& o) -> T& { return o.*a; }};
}
template <typename Owner, typename A, typename T>
Field<Owner, T> At(A Owner::*a, T A::*b) {
  return {[a, b](Owner& o) -> T& { return o.*a.*b; }};
}
template <typename Owner, typename A, typename B, typename T>
Field<Owner, T> At(A Owner::*a, B A::*b, T B::*c) {
  return {[a, b, c](Owner& o) -> T& { return o.*a.*b.*c; }};
}

template <typename Owner>
Owner& OwnerIn(Place place) {
  if constexpr (std::is_same_v<Owner, Settings>) return *place.settings;
  if constexpr (std::is_same_v<Owner, ServiceSettings>) return *place.service;
  if constexpr (std::is_same_v<Owner, MethodSettings>) return *place.method;
}

template <typename Owner>
std::vector<Level> LevelsOf() {
  if constexpr (std::is_same_v<Owner, Settings>) return {Level::kGlobal};
  if constexpr (std::is_same_v<Owner, ServiceSettings>) return {Level::kGlobal, Level::kService};
  return {Level::kGlobal, Level::kService, Level::kMethod};
}

// The entry of `field`, which may stand at every level that has its owner.
template <typename Owner, typename T>
Key Define(std::string name, Field<Owner, T> field, ValueType<T> type, std::string example,
           std::string help) {
  Key key;
  key.name = std::move(name);
  key.help = std::move(help);
  key.type = type.name;
  key.expected = type.expected;
  key.example = std::move(example);
  key.levels = LevelsOf<Owner>();
  key.of_method = std::is_same_v<Owner, MethodSettings>;
  key.read = [field, read = type.read](const YamlNode& node, ReadContext& context, Place place) {
    return read(node, context, &field.in(OwnerIn<Owner>(place)));
  };
  key.show = [field, show = type.show](Place place) {
    return show(field.in(OwnerIn<Owner>(place)));
  };
  key.copy = [field](Place from, Place to) {
    field.in(OwnerIn<Owner>(to)) = field.in(OwnerIn<Owner>(from));
  };
  return key;
}

inline Key Only(std::vector<Level> levels, Key key) {
  key.levels = std::move(levels);
  return key;
}

inline Key Secret(Key key) {
  key.secret = true;
  key.show = [show = std::move(key.show)](Place place) {
    std::string shown = show(place);
    return shown == "''" ? shown : "(hidden)";
  };
  return key;
}

}  // namespace marpc

#endif  // MARPC_CONFIG_KEY_DEFINITION_H_
