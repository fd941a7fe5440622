// What a retry session knows of itself: seen by policies, listeners and, where it wants to, by the
// operation.
//
//   absl::Status Charge(marpc::RetryContext& context) {
//     if (context.attempt() > 1) LOG(INFO) << "again, after " << context.last_error();
//     absl::Status status = ...;
//     if (CardIsStolen(status)) context.EndNow();  // whatever the policies say
//     return status;
//   }
//
// An operation that can be cut short looks at attempt_deadline(): the attempt's share of the time.
#ifndef MARPC_RETRY_RETRY_CONTEXT_H_
#define MARPC_RETRY_RETRY_CONTEXT_H_

#include <algorithm>
#include <any>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"

namespace marpc {

class RetryPolicy;

// Is the value false, zero or an empty container or text? A type that can be none of these is never
// falsy.
template <typename T>
bool IsFalsyValue(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value == T();
  } else if constexpr (requires {
                         { value.empty() } -> std::convertible_to<bool>;
                       }) {
    return value.empty();
  } else {
    return false;
  }
}

// A result of any type, for predicates. Refers to it; does not own it.
//
// No value is no result: a std::optional is seen as what it holds, and as empty when it holds
// nothing; a null pointer is empty.
class ResultView {
 public:
  ResultView() = default;
  template <typename T>
  explicit ResultView(const T& result)
      : result_(&result), type_(typeid(T)), falsy_(IsFalsyValue(result)) {
    if constexpr (requires { result == nullptr; }) {
      if (result == nullptr) *this = ResultView();
    }
  }
  template <typename T>
  explicit ResultView(const std::optional<T>& result) {
    if (result.has_value()) *this = ResultView(*result);
  }

  // The attempt gave no result.
  bool empty() const { return result_ == nullptr; }
  // There is a result, and it is false, zero or empty (IsFalsyValue).
  bool falsy() const { return falsy_; }
  // Null when there is none, or one of another type.
  template <typename T>
  const T* As() const {
    return type_ == std::type_index(typeid(T)) ? static_cast<const T*>(result_) : nullptr;
  }

 private:
  const void* result_ = nullptr;
  std::type_index type_ = typeid(void);
  bool falsy_ = false;
};

// Not thread-safe: belongs to one session, whose steps come one after the other.
class RetryContext {
 public:
  RetryContext(std::string operation, MonotonicTime started_at, MonotonicTime deadline,
               RandomSource& random)
      : operation_(std::move(operation)),
        started_at_(started_at),
        now_(started_at),
        deadline_(deadline),
        random_(&random) {}

  // For logs: "charge", or the RPC's full name.
  const std::string& operation() const { return operation_; }
  // 1 in the first attempt and after it; 0 before it.
  int attempt() const { return attempt_; }
  // Of the last attempt; OK when it gave a result, and before the first.
  const absl::Status& last_error() const { return last_error_; }
  // Of the last attempt; empty when it failed, before the first, and while an attempt runs: the
  // operation does not see what it returned before.
  ResultView last_result() const { return last_result_; }
  // The last attempt's instance; empty where there are none.
  const std::string& instance() const { return instance_; }

  MonotonicTime started_at() const { return started_at_; }
  MonotonicTime now() const { return now_; }
  // Infinite: none.
  MonotonicTime deadline() const { return std::min(deadline_, limit_); }
  absl::Duration elapsed() const { return now_ - started_at_; }
  // When the attempt that runs should end: its own limit or the session's deadline, whichever is
  // first. Infinite: none.
  MonotonicTime attempt_deadline() const { return attempt_deadline_; }
  // For policies, in Start(): the session may not last longer than this.
  void LimitDeadline(MonotonicTime limit) { limit_ = std::min(limit_, limit); }
  RandomSource& random() const { return *random_; }

  // The wait before the coming retry; for listeners.
  absl::Duration wait() const { return wait_; }
  // Why the session ended; empty while it goes on. For End() and listeners.
  const std::string& end_reason() const { return end_reason_; }
  // It ended because the means to go on were used up, not because the outcome was final.
  bool spent() const { return spent_; }

  // Forbids further attempts: the coming outcome is the session's.
  void EndNow() { end_now_ = true; }
  bool ended_by_operation() const { return end_now_; }
  // The peer's push-back (HTTP's Retry-After, `grpc-retry-pushback-ms`): if the attempt that runs
  // is followed by another one, then after exactly this. Negative: by none.
  void RetryAfter(absl::Duration pushback) { pushback_ = pushback; }
  const std::optional<absl::Duration>& pushback() const { return pushback_; }
  // The attempt that runs has surely not reached its peer. If it fails, it is made again at once
  // and counts nowhere; but not more than kMaxUncountedAttempts times in a session.
  void NeverSent() { never_sent_ = true; }
  static constexpr int kMaxUncountedAttempts = 5;
  int uncounted_attempts() const { return uncounted_attempts_; }

  // Key-values of the user's own, from attempt to attempt.
  std::map<std::string, std::any>& attributes() { return attributes_; }

  // What `policy` keeps for this session; made when first asked for.
  template <typename T>
  T& Memory(const RetryPolicy* policy) {
    for (auto& [owner, memory] : memories_) {
      if (owner == policy) return *std::any_cast<T>(&memory);
    }
    return *std::any_cast<T>(&memories_.emplace_back(policy, T()).second);
  }

 private:
  friend class AnyOfPolicy;
  friend class RetrySession;
  friend class SessionPolicies;

  std::string operation_;
  MonotonicTime started_at_;
  MonotonicTime now_;
  MonotonicTime deadline_;                                 // the caller's
  MonotonicTime limit_ = MonotonicTime::InfiniteFuture();  // the policies'
  RandomSource* random_;
  int attempt_ = 0;
  absl::Status last_error_;
  ResultView last_result_;
  std::string instance_;
  absl::Duration wait_;
  std::string end_reason_;
  bool spent_ = false;
  bool end_now_ = false;
  MonotonicTime attempt_deadline_ = MonotonicTime::InfiniteFuture();
  std::optional<absl::Duration> pushback_;
  bool never_sent_ = false;
  int uncounted_attempts_ = 0;
  std::map<std::string, std::any> attributes_;
  std::vector<std::pair<const RetryPolicy*, std::any>> memories_;
};

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_CONTEXT_H_
