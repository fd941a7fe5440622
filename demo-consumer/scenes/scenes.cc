#include "demo-consumer/scenes/scenes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace demo {

const std::vector<Scene>& AllScenes() {
  static const auto* const scenes = new std::vector<Scene>{
      {1, "basic", "calls and overloads, by generated clients and stock stubs", PlayBasic},
      {2, "messages", "messages and lists, over three services", PlayMessages},
      {3, "errors", "who made a failure: handler, network or framework", PlayErrors},
      {4, "concurrency", "8 threads make 1,000 calls each", PlayConcurrency},
      {5, "cache", "answers kept, per context; one call for many askers", PlayCache},
      {6, "mock", "answers without any provider", PlayMock},
      {7, "retry", "a provider is killed with SIGKILL in mid-load", PlayRetry},
      {8, "breaker", "providers turn sick and are healed", PlayBreaker},
      {9, "gray", "an instance is marked and unmarked while calls flow", PlayGray},
      {10, "context", "key-values travel over two hops and leak nowhere", PlayContext},
      {11, "outage", "the registry goes in mid-load and comes back empty", PlayOutage},
      {12, "ejection", "a sick and a frozen instance are left alone, and led back", PlayEjection},
      {13, "degradation", "an operator switches levels: what is optional stays at home",
       PlayDegradation},
  };
  return *scenes;
}

absl::StatusOr<std::vector<Scene>> ChooseScenes(const std::vector<std::string>& names) {
  if (names.empty()) return AllScenes();
  std::vector<Scene> chosen;
  for (const Scene& scene : AllScenes()) {
    const auto is_meant = [&](const std::string& name) {
      return name == scene.name || name == absl::StrCat(scene.number);
    };
    if (std::any_of(names.begin(), names.end(), is_meant)) chosen.push_back(scene);
  }
  for (const std::string& name : names) {
    const auto matches = [&](const Scene& scene) {
      return name == scene.name || name == absl::StrCat(scene.number);
    };
    if (std::any_of(chosen.begin(), chosen.end(), matches)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no scene '", name, "'; there are ",
                     absl::StrJoin(AllScenes(), ", ", [](std::string* out, const Scene& scene) {
                       absl::StrAppend(out, scene.number, " ", scene.name);
                     })));
  }
  return chosen;
}

}  // namespace demo
