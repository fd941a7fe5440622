// The scenes: each shows one thing that marpc does, by a real cause, and checks it by what arrives
// at the providers.
#ifndef DEMO_CONSUMER_SCENES_SCENES_H_
#define DEMO_CONSUMER_SCENES_SCENES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "demo-consumer/evidence.h"
#include "demo-consumer/stage.h"

namespace demo {

// Each leaves the stage as it found it: three healthy, registered providers. A status that is not
// OK says why the scene could not be played to its end; claims that do not hold are told to
// `evidence`.
absl::Status PlayBasic(Stage& stage, Evidence& evidence);
absl::Status PlayMessages(Stage& stage, Evidence& evidence);
absl::Status PlayErrors(Stage& stage, Evidence& evidence);
absl::Status PlayConcurrency(Stage& stage, Evidence& evidence);
absl::Status PlayCache(Stage& stage, Evidence& evidence);
absl::Status PlayMock(Stage& stage, Evidence& evidence);
absl::Status PlayRetry(Stage& stage, Evidence& evidence);
absl::Status PlayBreaker(Stage& stage, Evidence& evidence);
absl::Status PlayGray(Stage& stage, Evidence& evidence);
absl::Status PlayContext(Stage& stage, Evidence& evidence);
absl::Status PlayOutage(Stage& stage, Evidence& evidence);
absl::Status PlayEjection(Stage& stage, Evidence& evidence);
absl::Status PlayDegradation(Stage& stage, Evidence& evidence);

struct Scene {
  int number;
  const char* name;
  const char* title;
  absl::Status (*play)(Stage& stage, Evidence& evidence);
};

// In the order in which they are played.
const std::vector<Scene>& AllScenes();

// Those named, by name or number; all of them when none is. InvalidArgument lists the names.
absl::StatusOr<std::vector<Scene>> ChooseScenes(const std::vector<std::string>& names);

}  // namespace demo

#endif  // DEMO_CONSUMER_SCENES_SCENES_H_
