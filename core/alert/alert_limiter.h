// Lets at most one alert of a kind about one subject through in an interval, and counts the others.
#ifndef MARPC_ALERT_ALERT_LIMITER_H_
#define MARPC_ALERT_ALERT_LIMITER_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "marpc/alert/alert.h"
#include "marpc/base/clock.h"

namespace marpc {

// Not thread-safe.
class AlertLimiter {
 public:
  explicit AlertLimiter(absl::Duration min_interval) : min_interval_(min_interval) {}

  // How many of its like were left out since the last that was let through; none: so is this one.
  std::optional<uint64_t> Admit(const Alert& alert, MonotonicTime now);
  // Subjects that are remembered: instances come and go.
  size_t remembered() const { return subjects_.size(); }

 private:
  using Name = std::pair<std::string, std::string>;  // event and subject
  struct Subject {
    MonotonicTime last;
    uint64_t left_out = 0;
    std::list<const Name*>::iterator place;  // in by_last_
  };
  void ForgetOldest();
  // None of its like is kept back by now, and none is to be told of.
  bool IsOver(const Subject& subject, MonotonicTime now) const;

  const absl::Duration min_interval_;
  std::map<Name, Subject> subjects_;
  std::list<const Name*> by_last_;  // of subjects_, the oldest first
};

}  // namespace marpc

#endif  // MARPC_ALERT_ALERT_LIMITER_H_
