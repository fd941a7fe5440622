// What the kinds of the area backoff share.
#ifndef MARPC_TESTS_VECTORS_BACKOFF_EVENTS_H_
#define MARPC_TESTS_VECTORS_BACKOFF_EVENTS_H_

#include <cstdint>
#include <functional>
#include <limits>

#include "absl/time/time.h"
#include "marpc/base/random.h"
#include "marpc/retry/backoff.h"
#include "tests/vectors/vector_case.h"

namespace marpc::vectors {

inline constexpr absl::Duration kMs = absl::Milliseconds(1);
// What the sources' 64-bit milliseconds, and .NET's 100 ns in 64 bits, can hold.
inline constexpr absl::Duration kLongestInJava =
    absl::Milliseconds(std::numeric_limits<int64_t>::max());
inline const absl::Duration kLongestInDotNet =
    absl::Nanoseconds(std::numeric_limits<int64_t>::max()) * 100;

class OneDraw final : public RandomSource {
 public:
  explicit OneDraw(double draw) : draw_(draw) {}
  double Uniform() override { return draw_; }
  uint64_t Below(uint64_t) override { throw Unmapped("a backoff throws no dice"); }

 private:
  const double draw_;
};

// A whole number of ms where it is one.
Json Ms(absl::Duration wait);
// To whole ms; a wait that is a whole number but for its last bits is that number.
absl::Duration Truncated(absl::Duration wait);
// A draw of 1 stands for the last one below it.
double BelowOne(double draw);

// Without jitter, and with no limit but Java's.
BackoffSettings Exact(BackoffStrategy strategy);

// By marpc's Backoff, in a session of its own.
absl::Duration DelayOf(const BackoffSettings& settings, int retry, double draw = 0.5);

// One wait an event, none of which needs the one before it.
Json EachWait(const VectorCase& vector,
              const std::function<absl::Duration(int attempt, double draw)>& wait);

// "ok" or "invalid".
Json Validity(bool valid);

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_BACKOFF_EVENTS_H_
