// What people are told of a service's list: where it comes from, and how it changes.
#ifndef MARPC_CONSUMER_LIST_MESSAGES_H_
#define MARPC_CONSUMER_LIST_MESSAGES_H_

#include <string>

#include "absl/status/status.h"
#include "marpc/config/settings.h"
#include "marpc/registry/registry.h"

namespace marpc {

// "file:/run/marpc, env dev": where a consumer with these settings looks for instances.
std::string RegistryInWords(const Settings& settings);

// Why `service` cannot be called: its registry, which is in this state, has not answered yet.
absl::Status ListNotReady(const std::string& service, const RegistryState& registry);

// A line at `info` where instances came, went or were started anew (`event=instances`), and one
// where gray marks did (`event=gray_marks`). `before`: null when this is the first list.
void LogListChange(const ServiceSnapshot* before, const ServiceSnapshot& after);

}  // namespace marpc

#endif  // MARPC_CONSUMER_LIST_MESSAGES_H_
