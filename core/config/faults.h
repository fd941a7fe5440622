// Everything that is wrong with a configuration file, told at once.
#ifndef MARPC_CONFIG_FAULTS_H_
#define MARPC_CONFIG_FAULTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace marpc {

// A place in a file; counted from 1. Line 0: the file as a whole.
struct Mark {
  int line = 0;
  int column = 0;
};

// Not thread-safe.
class Faults {
 public:
  void Add(Mark mark, std::string message);
  bool empty() const { return faults_.empty(); }
  // A file that is wrong throughout (another program's, say) is not worth reading to its end.
  bool full() const { return faults_.size() >= kMax; }

  // OK, or InvalidArgument with one line a fault in the order of the file:
  // `consumer.yaml:14:5: unknown key 'maxRetry' under marpc.retry; did you mean 'maxRetries'?`
  absl::Status ToStatus(absl::string_view file) const;
  // In the order in which they were found.
  const std::vector<std::pair<Mark, std::string>>& all() const { return faults_; }

 private:
  static constexpr size_t kMax = 50;
  std::vector<std::pair<Mark, std::string>> faults_;
};

// `value` in quotes as a message shows it: shortened, and with nothing in it that could disturb a
// terminal.
std::string Quote(absl::string_view value);

// The candidate that `word` was probably meant to be. None when nothing comes near.
std::optional<std::string> Nearest(absl::string_view word,
                                   const std::vector<std::string>& candidates);

// `; did you mean 'x'?` where something comes near, otherwise `; known: a, b, c`.
std::string NearestOrKnown(absl::string_view word, std::vector<std::string> candidates);

}  // namespace marpc

#endif  // MARPC_CONFIG_FAULTS_H_
