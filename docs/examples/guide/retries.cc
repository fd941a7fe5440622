// Retries around other code than RPCs: what docs/guide shows, compiled with the tests.
#include <functional>

#include "marpc/retry/retry.h"

absl::StatusOr<int> ReadStock(const std::function<absl::StatusOr<int>()>& query) {
  return marpc::Retry::WhenStatus(absl::StatusCode::kUnavailable)
      .Max(3)  // attempts, the first one included
      .Backoff(marpc::Backoff::Exponential(absl::Milliseconds(50), absl::Seconds(1)))
      .Named("read-stock")
      .Call(query);
}
