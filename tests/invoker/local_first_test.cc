#include "marpc/transport/local_first.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/invoker/scripted_connection.h"

namespace marpc::testing {
namespace {

AttemptOutcome NotSent() {
  AttemptOutcome outcome = Lost();
  outcome.surely_not_sent = true;
  return outcome;
}

class LocalFirstTest : public ::testing::Test {
 protected:
  // How the local way ends attempts from now on.
  void LocalEndsWith(AttemptOutcome outcome) { local_outcome_ = std::move(outcome); }
  AttemptOutcome Call() { return connection_.Call(AttemptRequest()); }
  AttemptOutcome Start() {
    AttemptOutcome ended;
    connection_.Start(AttemptRequest(),
                      [&](AttemptOutcome outcome) { ended = std::move(outcome); });
    return ended;
  }

  SimulatedClock clock_;
  AttemptOutcome local_outcome_;
  const std::shared_ptr<ScriptedConnection> local_ = std::make_shared<ScriptedConnection>(
      [this](const AttemptRequest&, auto done) { done(local_outcome_); });
  const std::shared_ptr<ScriptedConnection> remote_ = std::make_shared<ScriptedConnection>(
      [](const AttemptRequest&, auto done) { done(AttemptOutcome()); });
  LocalFirst connection_{local_, remote_, clock_};
};

TEST_F(LocalFirstTest, GoesByTheSocketWhileItWorks) {
  EXPECT_TRUE(Call().status.ok());
  EXPECT_TRUE(Start().status.ok());
  EXPECT_EQ(local_->attempts(), 2);
  EXPECT_EQ(remote_->attempts(), 0);
}

TEST_F(LocalFirstTest, WhatSurelyDidNotGoByItGoesByTheEndpoint) {
  LocalEndsWith(NotSent());
  EXPECT_TRUE(Call().status.ok());
  EXPECT_EQ(remote_->attempts(), 1);
  connection_.ResetBackoff();
  EXPECT_TRUE(Start().status.ok());
  EXPECT_EQ(remote_->attempts(), 2);
  EXPECT_EQ(local_->attempts(), 2);
}

TEST_F(LocalFirstTest, ThenTheSocketIsLeftAloneForAWhile) {
  LocalEndsWith(NotSent());
  Call();
  LocalEndsWith(AttemptOutcome());
  clock_.Advance(absl::Seconds(5) - absl::Nanoseconds(1));
  Call();
  Start();
  EXPECT_EQ(local_->attempts(), 1);
  EXPECT_EQ(remote_->attempts(), 3);
  clock_.Advance(absl::Nanoseconds(1));
  Call();
  EXPECT_EQ(local_->attempts(), 2);
  EXPECT_EQ(remote_->attempts(), 3);
}

// It may have been executed, or has been answered: once more would be twice.
TEST_F(LocalFirstTest, WhatMayHaveGoneDoesNotGoTwice) {
  LocalEndsWith(Lost());
  EXPECT_TRUE(absl::IsUnavailable(Call().status));
  EXPECT_TRUE(absl::IsUnavailable(Start().status));
  AttemptOutcome refused;
  refused.status = absl::InvalidArgumentError("too large");
  refused.source = AttemptOutcome::Source::kLocal;
  refused.surely_not_sent = true;
  LocalEndsWith(refused);
  EXPECT_TRUE(absl::IsInvalidArgument(Call().status));
  EXPECT_EQ(remote_->attempts(), 0);
}

}  // namespace
}  // namespace marpc::testing
