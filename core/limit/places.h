// So many calls at a time: the count that limits of calls under way share.
#ifndef MARPC_LIMIT_PLACES_H_
#define MARPC_LIMIT_PLACES_H_

#include <atomic>

namespace marpc {

// Thread-safe; takes no lock and allocates nothing. Sequentially consistent: who gives a place back
// and then looks for those who wait does not miss one who counted itself and then found no place.
class Places {
 public:
  // False where `most` or more are taken.
  bool TryTake(int most) {
    int taken = taken_.load();
    do {
      if (taken >= most) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + 1));
    return true;
  }
  void GiveBack() { --taken_; }
  int taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> taken_{0};
};

}  // namespace marpc

#endif  // MARPC_LIMIT_PLACES_H_
