// What the demo prints.
#ifndef DEMO_CONSUMER_REPORT_H_
#define DEMO_CONSUMER_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "demo-consumer/evidence.h"
#include "demo-consumer/scenes/scenes.h"

namespace demo {

struct SceneResult {
  Scene scene;
  bool ok = false;
  absl::Duration took;
  Evidence evidence;
};

// In JSON mode: one object a scene, a line each, on `out`; the rest on `err`. Otherwise all on
// `out`: a block a scene and a table at the end. Not thread-safe.
class Report {
 public:
  struct Options {
    bool json = false;
    bool colour = false;
  };
  Report(const Options& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  // A line of progress.
  void Say(const std::string& line);
  void SceneStarts(const Scene& scene);
  void SceneEnded(SceneResult result);
  // The table, and whether every scene showed what it claims.
  bool Conclude();

 private:
  enum class Colour { kGreen, kRed, kBold, kDim };
  std::string In(Colour colour, const std::string& text) const;
  std::ostream& talk() { return options_.json ? err_ : out_; }
  void PrintJson(const SceneResult& result);
  void PrintBlock(const SceneResult& result);

  const Options options_;
  std::ostream& out_;
  std::ostream& err_;
  std::vector<SceneResult> results_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_REPORT_H_
