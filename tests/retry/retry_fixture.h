// A retry on virtual time, and operations that fail as the test says.
#ifndef MARPC_TESTS_RETRY_RETRY_FIXTURE_H_
#define MARPC_TESTS_RETRY_RETRY_FIXTURE_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "marpc/retry/retry.h"
#include "tests/retry/virtual_time.h"

namespace marpc::testing {

class RetryFixture : public ::testing::Test {
 protected:
  template <typename F>
  BasicRetry<F> Under(const BasicRetry<F>& retry) {
    return retry.Using(time_.environment()).Log(nullptr);
  }
  // Fails with these in turn, then is good.
  std::function<absl::Status()> Failing(std::vector<absl::StatusCode> codes) {
    return [this, codes] {
      const size_t n = calls_++;
      return n < codes.size() ? absl::Status(codes[n], "no") : absl::OkStatus();
    };
  }

  VirtualTime time_;
  RetryReport report_;
  size_t calls_ = 0;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_RETRY_RETRY_FIXTURE_H_
