// The registry that the demo runs on, and its outage.
#ifndef DEMO_CONSUMER_DEMO_REGISTRY_H_
#define DEMO_CONSUMER_DEMO_REGISTRY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace demo {

// Not thread-safe.
class DemoRegistry {
 public:
  virtual ~DemoRegistry() = default;

  // registry.address of all who use it.
  virtual std::string address() const = 0;
  // How Break() does it, in words.
  virtual std::string breaks_by() const = 0;

  // Takes it from everyone at once, without notice.
  virtual absl::Status Break() = 0;
  // Brings it back with nothing in it.
  virtual absl::Status ReturnEmpty() = 0;
};

// `kind` is file or zookeeper; all that it keeps is below `folder`. A registry that needs a server
// has it running when this returns. The error says what to install where something is missing.
absl::StatusOr<std::unique_ptr<DemoRegistry>> StartDemoRegistry(absl::string_view kind,
                                                                const std::string& folder);

}  // namespace demo

#endif  // DEMO_CONSUMER_DEMO_REGISTRY_H_
