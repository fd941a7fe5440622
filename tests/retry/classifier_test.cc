#include "marpc/retry/classifier.h"

#include <string>

#include "gtest/gtest.h"

namespace marpc {
namespace {

using Health = Classification::Health;
using Source = AttemptOutcome::Source;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr auto kDeadlineExceeded = absl::StatusCode::kDeadlineExceeded;
constexpr auto kInternal = absl::StatusCode::kInternal;

struct Row {
  std::string name;
  Source source;
  absl::StatusCode code;
  bool surely_not_sent;
  // Expected:
  bool retried_if_idempotent;
  bool retried_if_not;
  ErrorInfo::Origin origin;
  absl::string_view reason;
  Health health;
};

class ClassifierTest : public ::testing::TestWithParam<Row> {};

TEST_P(ClassifierTest, SaysWhoseFailureItIsAndWhatToDo) {
  const Row& row = GetParam();
  AttemptOutcome outcome;
  outcome.status = absl::Status(row.code, "x");
  outcome.source = row.source;
  outcome.surely_not_sent = row.surely_not_sent;
  const Classification idempotent = Classify(outcome, {}, true);
  const Classification other = Classify(outcome, {}, false);
  EXPECT_EQ(idempotent.retryable, row.retried_if_idempotent) << idempotent.why;
  EXPECT_EQ(other.retryable, row.retried_if_not) << other.why;
  EXPECT_EQ(other.origin, row.origin);
  EXPECT_EQ(other.reason, row.reason);
  EXPECT_EQ(other.health, row.health);
  EXPECT_FALSE(idempotent.why.empty() || other.why.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, ClassifierTest,
    ::testing::Values(Row{"HandlerUnavailable", Source::kHandler, kUnavailable, false, false, false,
                          ErrorInfo::BUSINESS, reason::kHandler, Health::kGood},
                      Row{"HandlerDeadline", Source::kHandler, kDeadlineExceeded, false, false,
                          false, ErrorInfo::BUSINESS, reason::kHandler, Health::kGood},
                      Row{"PeerUnavailable", Source::kPeer, kUnavailable, false, true, false,
                          ErrorInfo::NETWORK, reason::kConnection, Health::kBad},
                      Row{"PeerDeadline", Source::kPeer, kDeadlineExceeded, false, true, false,
                          ErrorInfo::NETWORK, reason::kDeadline, Health::kBad},
                      Row{"PeerInternal", Source::kPeer, kInternal, false, false, false,
                          ErrorInfo::BUSINESS, reason::kPeerStatus, Health::kGood},
                      Row{"PeerOverloaded", Source::kPeer, absl::StatusCode::kResourceExhausted,
                          true, true, true, ErrorInfo::FRAMEWORK, reason::kOverloaded,
                          Health::kUnknown},
                      Row{"ConnectFailure", Source::kNetwork, kUnavailable, true, true, true,
                          ErrorInfo::NETWORK, reason::kConnection, Health::kBad},
                      Row{"BrokenConnection", Source::kNetwork, kUnavailable, false, true, false,
                          ErrorInfo::NETWORK, reason::kConnection, Health::kBad},
                      Row{"TimeOut", Source::kNetwork, kDeadlineExceeded, false, true, false,
                          ErrorInfo::NETWORK, reason::kDeadline, Health::kBad},
                      Row{"TooLarge", Source::kLocal, absl::StatusCode::kResourceExhausted, false,
                          false, false, ErrorInfo::FRAMEWORK, reason::kMessageTooLarge,
                          Health::kUnknown},
                      Row{"Cancelled", Source::kLocal, absl::StatusCode::kCancelled, false, false,
                          false, ErrorInfo::FRAMEWORK, reason::kCancelled, Health::kUnknown}),
    [](const auto& row) { return row.param.name; });

TEST(ClassifierListTest, RetriesListedStatusesOfTheHandlerAndOfTheNetwork) {
  RetrySettings settings;
  settings.retry_on = {absl::StatusCode::kAborted, kDeadlineExceeded};
  AttemptOutcome outcome;
  outcome.status = absl::AbortedError("x");
  EXPECT_TRUE(Classify(outcome, settings, false).retryable);
  EXPECT_EQ(Classify(outcome, settings, false).health, Health::kGood);
  outcome.status = absl::NotFoundError("x");
  EXPECT_FALSE(Classify(outcome, settings, false).retryable);
  outcome.status = absl::DeadlineExceededError("x");
  outcome.source = Source::kNetwork;
  EXPECT_TRUE(Classify(outcome, settings, false).retryable);
}

AttemptOutcome Outcome(absl::StatusCode code, Source source) {
  AttemptOutcome outcome;
  outcome.status = absl::Status(code, "x");
  outcome.source = source;
  return outcome;
}

TEST(ClassifierListTest, IgnoreWinsOverEverything) {
  RetrySettings settings;
  settings.retry_on = settings.ignore = {kUnavailable};
  settings.classifier = RetryClassifier::kAll;
  AttemptOutcome never_left = Outcome(kUnavailable, Source::kNetwork);
  never_left.surely_not_sent = true;
  for (const AttemptOutcome& outcome : {Outcome(kUnavailable, Source::kHandler),
                                        Outcome(kUnavailable, Source::kNetwork), never_left}) {
    const Classification classification = Classify(outcome, settings, true);
    EXPECT_FALSE(classification.retryable);
    EXPECT_EQ(classification.why, "status listed in ignore");
  }
  EXPECT_TRUE(Classify(Outcome(kInternal, Source::kHandler), settings, false).retryable);
}

TEST(ClassifierPresetTest, AllRetriesWhateverIsNotRefusedOnThisSide) {
  RetrySettings settings;
  settings.classifier = RetryClassifier::kAll;
  for (const Source source : {Source::kHandler, Source::kPeer, Source::kNetwork}) {
    EXPECT_TRUE(Classify(Outcome(kInternal, source), settings, false).retryable);
    EXPECT_TRUE(Classify(Outcome(kUnavailable, source), settings, false).retryable);
  }
  EXPECT_FALSE(Classify(Outcome(kInternal, Source::kLocal), settings, true).retryable);
}

TEST(ClassifierPresetTest, IdempotentSafeLetsNoListHaveAnythingExecutedTwice) {
  RetrySettings settings;
  settings.classifier = RetryClassifier::kIdempotentSafe;
  settings.retry_on = {kUnavailable};
  for (const Source source : {Source::kHandler, Source::kNetwork}) {
    EXPECT_FALSE(Classify(Outcome(kUnavailable, source), settings, false).retryable);
    EXPECT_TRUE(Classify(Outcome(kUnavailable, source), settings, true).retryable);
  }
  AttemptOutcome never_left = Outcome(kUnavailable, Source::kNetwork);
  never_left.surely_not_sent = true;
  EXPECT_TRUE(Classify(never_left, settings, false).retryable);
}

TEST(ClassifierListTest, WhatIsRefusedOnThisSideIsNeverRetriedEvenWhereItsCodeIsListed) {
  RetrySettings settings;
  settings.retry_on = {absl::StatusCode::kResourceExhausted};
  settings.classifier = RetryClassifier::kAll;
  AttemptOutcome outcome;
  outcome.status = absl::ResourceExhaustedError("larger than max");
  outcome.source = Source::kLocal;
  EXPECT_FALSE(Classify(outcome, settings, true).retryable);
}

}  // namespace
}  // namespace marpc
