// The mutex of the call path.
//
// Debian's Abseil is built with deadlock detection: each Lock() of an absl::Mutex enters the
// process's one graph of locks, under one spin lock, which costs 50 ns alone and 300 ns with eight
// threads. Where every call takes the lock, that is worth a mutex without
// conditions.
#ifndef MARPC_BASE_PLAIN_MUTEX_H_
#define MARPC_BASE_PLAIN_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace marpc {

class ABSL_LOCKABLE PlainMutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE PlainMutexLock {
 public:
  explicit PlainMutexLock(PlainMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->lock();
  }
  ~PlainMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->unlock(); }
  PlainMutexLock(const PlainMutexLock&) = delete;
  PlainMutexLock& operator=(const PlainMutexLock&) = delete;

 private:
  PlainMutex* const mutex_;
};

}  // namespace marpc

#endif  // MARPC_BASE_PLAIN_MUTEX_H_
