#include "marpc/base/random.h"

#include <random>

namespace marpc {

RandomSource& RandomSource::OfThisThread() {
  thread_local SeededRandom random([] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }());
  return random;
}

}  // namespace marpc
