// Tells ThreadSanitizer what Debian's Abseil does not: that absl::Mutex, CondVar and Notification
// order what they guard. That library is built without TSan, so every value under an absl::Mutex
// would be reported as a race.
//
// Linked into the tests of the tsan preset only. Each function here stands before the library's own
// of that name, calls it, and says what it orders: an unlock releases, a lock acquires.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <typeinfo>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);

namespace {

// The library's own function: a member of Class whose mangled name goes on with `rest`. Going by
// typeid() keeps Abseil's inline namespace, which changes with its version, out of here.
template <typename Class, typename Function>
Function* Real(const char* rest, const char* qualifier = "N") {
  const std::string mangled_class = typeid(Class).name();  // N4absl<namespace>5MutexE
  const std::string name =
      std::string("_Z") + qualifier + mangled_class.substr(1, mangled_class.size() - 2) + rest;
  void* symbol = dlsym(RTLD_NEXT, name.c_str());
  if (symbol == nullptr) {
    std::fprintf(stderr, "tests/tsan/absl_mutex.cc: this Abseil has no %s\n", name.c_str());
    std::abort();
  }
  return reinterpret_cast<Function*>(symbol);
}

// The mutex whose conditions the library is evaluating on this thread. It takes and leaves the
// mutex inside one call then, and only Condition::Eval() is seen from outside.
thread_local absl::Mutex* evaluating = nullptr;

class Evaluating {
 public:
  explicit Evaluating(absl::Mutex* mutex) : previous_(evaluating) { evaluating = mutex; }
  ~Evaluating() { evaluating = previous_; }

 private:
  absl::Mutex* const previous_;
};

// Where Notification keeps its flag, which HasBeenNotified() reads with an atomic load of its own.
void* FlagOf(const absl::Notification* notification) {
  return reinterpret_cast<char*>(const_cast<absl::Notification*>(notification)) +
         sizeof(absl::Mutex);
}

}  // namespace

void absl::Mutex::Lock() {
  static auto* const real = Real<absl::Mutex, void(absl::Mutex*)>("4LockEv");
  real(this);
  __tsan_acquire(this);
}

void absl::Mutex::Unlock() {
  static auto* const real = Real<absl::Mutex, void(absl::Mutex*)>("6UnlockEv");
  const Evaluating scope(this);
  __tsan_release(this);
  real(this);
}

bool absl::Mutex::TryLock() {
  static auto* const real = Real<absl::Mutex, bool(absl::Mutex*)>("7TryLockEv");
  const bool locked = real(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void absl::Mutex::ReaderLock() {
  static auto* const real = Real<absl::Mutex, void(absl::Mutex*)>("10ReaderLockEv");
  real(this);
  __tsan_acquire(this);
}

void absl::Mutex::ReaderUnlock() {
  static auto* const real = Real<absl::Mutex, void(absl::Mutex*)>("12ReaderUnlockEv");
  const Evaluating scope(this);
  __tsan_release(this);
  real(this);
}

void absl::Mutex::LockWhen(const absl::Condition& condition) {
  static auto* const real =
      Real<absl::Mutex, void(absl::Mutex*, const absl::Condition&)>("8LockWhenERKNS0_9ConditionE");
  const Evaluating scope(this);
  real(this, condition);
  __tsan_acquire(this);
}

bool absl::Mutex::LockWhenWithTimeout(const absl::Condition& condition, absl::Duration timeout) {
  static auto* const real =
      Real<absl::Mutex, bool(absl::Mutex*, const absl::Condition&, absl::Duration)>(
          "19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const Evaluating scope(this);
  const bool met = real(this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

void absl::Mutex::Await(const absl::Condition& condition) {
  static auto* const real =
      Real<absl::Mutex, void(absl::Mutex*, const absl::Condition&)>("5AwaitERKNS0_9ConditionE");
  const Evaluating scope(this);
  __tsan_release(this);
  real(this, condition);
  __tsan_acquire(this);
}

bool absl::Mutex::AwaitWithTimeout(const absl::Condition& condition, absl::Duration timeout) {
  static auto* const real =
      Real<absl::Mutex, bool(absl::Mutex*, const absl::Condition&, absl::Duration)>(
          "16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const Evaluating scope(this);
  __tsan_release(this);
  const bool met = real(this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

bool absl::Mutex::AwaitWithDeadline(const absl::Condition& condition, absl::Time deadline) {
  static auto* const real =
      Real<absl::Mutex, bool(absl::Mutex*, const absl::Condition&, absl::Time)>(
          "17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  const Evaluating scope(this);
  __tsan_release(this);
  const bool met = real(this, condition, deadline);
  __tsan_acquire(this);
  return met;
}

bool absl::Condition::Eval() const {
  static auto* const real = Real<absl::Condition, bool(const absl::Condition*)>("4EvalEv", "NK");
  if (evaluating != nullptr) __tsan_acquire(evaluating);
  const bool holds = real(this);
  if (evaluating != nullptr) __tsan_release(evaluating);
  return holds;
}

void absl::CondVar::Wait(absl::Mutex* mutex) {
  static auto* const real =
      Real<absl::CondVar, void(absl::CondVar*, absl::Mutex*)>("4WaitEPNS0_5MutexE");
  const Evaluating scope(mutex);
  __tsan_release(mutex);
  real(this, mutex);
  __tsan_acquire(mutex);
}

bool absl::CondVar::WaitWithTimeout(absl::Mutex* mutex, absl::Duration timeout) {
  static auto* const real = Real<absl::CondVar, bool(absl::CondVar*, absl::Mutex*, absl::Duration)>(
      "15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  const Evaluating scope(mutex);
  __tsan_release(mutex);
  const bool timed_out = real(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

bool absl::CondVar::WaitWithDeadline(absl::Mutex* mutex, absl::Time deadline) {
  static auto* const real = Real<absl::CondVar, bool(absl::CondVar*, absl::Mutex*, absl::Time)>(
      "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  const Evaluating scope(mutex);
  __tsan_release(mutex);
  const bool timed_out = real(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

void absl::Notification::Notify() {
  static auto* const real = Real<absl::Notification, void(absl::Notification*)>("6NotifyEv");
  // Before: once notified, a waiter may destroy this.
  __tsan_release(FlagOf(this));
  real(this);
}

void absl::Notification::WaitForNotification() const {
  static auto* const real =
      Real<absl::Notification, void(const absl::Notification*)>("19WaitForNotificationEv", "NK");
  real(this);
  __tsan_acquire(FlagOf(this));
}

bool absl::Notification::WaitForNotificationWithTimeout(absl::Duration timeout) const {
  static auto* const real =
      Real<absl::Notification, bool(const absl::Notification*, absl::Duration)>(
          "30WaitForNotificationWithTimeoutENS0_8DurationE", "NK");
  const bool notified = real(this, timeout);
  if (notified) __tsan_acquire(FlagOf(this));
  return notified;
}

bool absl::Notification::WaitForNotificationWithDeadline(absl::Time deadline) const {
  static auto* const real = Real<absl::Notification, bool(const absl::Notification*, absl::Time)>(
      "31WaitForNotificationWithDeadlineENS0_4TimeE", "NK");
  const bool notified = real(this, deadline);
  if (notified) __tsan_acquire(FlagOf(this));
  return notified;
}
