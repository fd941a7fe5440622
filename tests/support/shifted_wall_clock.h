// The system's time, seen wrong: the process's own clock_gettime() adds wall_clock_shift to the
// wall clock, so that whatever computes a deadline by it waits for that much longer. To be included
// by one file of a program.
#ifndef MARPC_TESTS_SUPPORT_SHIFTED_WALL_CLOCK_H_
#define MARPC_TESTS_SUPPORT_SHIFTED_WALL_CLOCK_H_

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace marpc::testing {

inline std::atomic<time_t> wall_clock_shift{0};  // seconds

class ShiftedWallClock {
 public:
  ShiftedWallClock() { wall_clock_shift = 3600; }
  ~ShiftedWallClock() { wall_clock_shift = 0; }
};

}  // namespace marpc::testing

extern "C" int clock_gettime(clockid_t clock, struct timespec* now) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME) now->tv_sec += marpc::testing::wall_clock_shift;
  return result;
}

#endif  // MARPC_TESTS_SUPPORT_SHIFTED_WALL_CLOCK_H_
