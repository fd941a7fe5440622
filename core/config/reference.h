// The page docs/configuration.md.
#ifndef MARPC_CONFIG_REFERENCE_H_
#define MARPC_CONFIG_REFERENCE_H_

#include <string>

namespace marpc {

// Every key of the table, as Markdown.
std::string ConfigReference();

}  // namespace marpc

#endif  // MARPC_CONFIG_REFERENCE_H_
