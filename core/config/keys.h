// The one table of everything that can be configured. The loader, its messages and
// docs/configuration.md come from it.
//
// To add a key: add the field, with its default, to settings.h, and its entry to key_table.cc; then
// renew the reference (tools/config-reference). The tests go over the table by themselves.
#ifndef MARPC_CONFIG_KEYS_H_
#define MARPC_CONFIG_KEYS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/config/settings.h"
#include "marpc/config/value_type.h"

namespace marpc {

// Where a key may stand: at the top, below `services: {name:`, below its `methods: {name:`.
enum class Level { kGlobal, kService, kMethod };

// The settings that a key at one level acts on. At the global level all three are set; at a
// service's, `service` and `method` (its methods' defaults); at a method's, `method` alone.
struct Place {
  Settings* settings = nullptr;
  ServiceSettings* service = nullptr;
  MethodSettings* method = nullptr;

  static Place Global(Settings& settings);
  static Place OfService(Settings::PerService& service);
  static Place OfMethod(MethodSettings& method);
};

struct Key {
  std::string name;      // below `marpc:`, with dots: retry.maxRetries
  std::string help;      // one line
  std::string type;      // "whole number, 0 to 100"
  std::string expected;  // "a whole number from 0 to 100"
  std::string example;   // a value other than the default, as in YAML
  std::vector<Level> levels;
  bool secret = false;
  // What a method goes by (MethodSettings), also where the key may stand at a service's level
  // alone.
  bool of_method = false;

  // Reads the value into its field. False, and the field untouched, after the fault was reported.
  std::function<bool(const YamlNode&, ReadContext&, Place)> read;
  // The field's value as YAML; a secret's value is hidden. The default is that of a `Settings` just
  // made.
  std::function<std::string(Place)> show;
  std::function<void(Place from, Place to)> copy;

  bool AllowedAt(Level level) const;
};

// In the order of the reference.
const std::vector<Key>& Keys();

// Null when there is no such key.
const Key* FindKey(absl::string_view name);

// Are there keys below `name`? True for "retry", "retry.budget" and "" (the root).
bool IsKeyGroup(absl::string_view name);

// The names that may follow `group` at a level, one step down: below "retry", "maxRetries",
// "budget" ...
std::vector<std::string> NamesBelow(absl::string_view group, Level level);

// "at the top", "in a service", "in a method"
absl::string_view LevelName(Level level);

}  // namespace marpc

#endif  // MARPC_CONFIG_KEYS_H_
