#include "marpc/invoker/session_policies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "marpc/retry/policy_votes.h"

namespace marpc {
namespace {

RetryVerdict Named(PolicyVote vote) {
  if (vote.by != nullptr) {
    vote.verdict.reason = absl::StrCat(vote.by->name(), ": ", vote.verdict.reason);
  }
  return std::move(vote.verdict);
}

}  // namespace

SessionPolicies::SessionPolicies(absl::Span<const std::shared_ptr<RetryPolicy>> policies,
                                 absl::Span<const std::shared_ptr<RetryListener>> listeners,
                                 RetryContext context)
    : policies_(policies), listeners_(listeners), context_(std::move(context)) {}

SessionPolicies::~SessionPolicies() { Close(false, "dropped"); }

void SessionPolicies::At(MonotonicTime now, RandomSource& random) {
  context_.now_ = now;
  context_.random_ = &random;
}

std::optional<SessionPolicies::Refusal> SessionPolicies::Open() {
  for (const auto& listener : listeners_) {
    ++opened_;
    const absl::Status veto = listener->OnOpen(context_);
    if (veto.ok()) continue;
    return Refusal{
        FrameworkError(veto.code(), reason::kRetryVetoed,
                       absl::StrCat(context_.operation_,
                                    " was not attempted: a listener refused it: ", veto.message())),
        /*vetoed=*/true};
  }
  started_ = true;
  for (const auto& policy : policies_) policy->Start(context_);
  PolicyVote vote = AskPolicies(policies_, context_);
  if (vote.by == nullptr) return std::nullopt;
  if (!vote.verdict.error.ok()) return Refusal{std::move(vote.verdict.error), /*vetoed=*/false};
  return Refusal{FrameworkError(absl::StatusCode::kUnavailable, reason::kRefusedByPolicy,
                                absl::StrCat("the retry policy '", vote.by->name(),
                                             "' lets no attempt be made: ", vote.verdict.reason)),
                 /*vetoed=*/false};
}

void SessionPolicies::OnAttempt(int attempt, MonotonicTime deadline) {
  context_.attempt_ = attempt + 1;
  context_.attempt_deadline_ = deadline;
  context_.pushback_.reset();
  context_.last_result_ = ResultView();  // the reply is filled anew
}

void SessionPolicies::OnError(const absl::Status& error, const std::string& instance) {
  context_.last_error_ = error;
  context_.last_result_ = ResultView();
  context_.instance_ = instance;
  for (size_t i = listeners_.size(); i-- > 0;) listeners_[i]->OnError(context_);
}

void SessionPolicies::OnAnswer(const google::protobuf::MessageLite& reply,
                               const std::string& instance) {
  context_.last_error_ = absl::OkStatus();
  context_.last_result_ = ResultView(reply);
  context_.instance_ = instance;
  for (size_t i = listeners_.size(); i-- > 0;) listeners_[i]->OnSuccess(context_);
}

RetryVerdict SessionPolicies::MayRetry() {
  RetryVerdict verdict = Named(AskPolicies(policies_, context_));
  if (verdict.kind != RetryVerdict::Kind::kOutcomeStands && context_.end_now_) {
    return RetryVerdict::OutcomeStands("a listener forbade further attempts");
  }
  return verdict;
}

RetryVerdict SessionPolicies::TakeRetry(absl::Duration wait) {
  context_.wait_ = wait;
  RetryVerdict verdict = Named(marpc::TakeRetry(policies_, context_));
  if (verdict.kind != RetryVerdict::Kind::kTryAgain) return verdict;
  for (const auto& listener : listeners_) listener->OnRetry(context_);
  return verdict;
}

void SessionPolicies::DropRetry() { marpc::DropRetry(policies_, policies_.size(), context_); }

void SessionPolicies::Close(bool spent, std::string reason) {
  context_.spent_ = spent;
  context_.end_reason_ = std::move(reason);
  if (std::exchange(started_, false)) EndPolicies(policies_, context_);
  CloseListeners(listeners_, std::exchange(opened_, 0), context_);
}

}  // namespace marpc
