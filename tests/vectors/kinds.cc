#include "tests/vectors/kinds.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace marpc::vectors {
namespace {

// By area and kind; "" for kinds that mean the same in every area.
const std::map<std::pair<absl::string_view, absl::string_view>, RunKind>& Kinds() {
  static const auto& kinds =
      *new std::map<std::pair<absl::string_view, absl::string_view>, RunKind>{
          {{"backoff", "array"}, RunDelayList},
          {{"backoff", "exponential"}, RunExponential},
          {{"backoff", "failsafe_jitter_abs"}, RunFailsafeJitter},
          {{"backoff", "failsafe_jitter_factor"}, RunFailsafeJitterFactor},
          {{"backoff", "failsafe_random_range"}, RunFailsafeRange},
          {{"backoff", "fibonacci"}, RunFibonacci},
          {{"backoff", "fixed"}, RunFixed},
          {{"backoff", "grpc"}, RunGrpcBackoff},
          {{"backoff", "hyperf_backoff"}, RunHyperfBackoff},
          {{"backoff", "hyperf_backoff_validate"}, RunHyperfBackoffValidation},
          {{"backoff", "hyperf_flat"}, RunHyperfFlat},
          {{"backoff", "none"}, RunNoBackoff},
          {{"backoff", "polly_constant"}, RunPollyConstant},
          {{"backoff", "polly_exponential"}, RunPollyExponential},
          {{"backoff", "polly_linear"}, RunPollyLinear},
          {{"backoff", "r4j_exponential"}, RunR4jExponential},
          {{"backoff", "r4j_exponential_random"}, RunR4jExponentialRandom},
          {{"backoff", "r4j_randomized"}, RunR4jRandomized},
          {{"backoff", "r4j_validate"}, RunR4jBackoffValidation},
          {{"backoff", "spring_backoff_selection"}, RunSpringBackoffSelection},
          {{"backoff", "spring_exponential"}, RunSpringExponential},
          {{"backoff", "spring_exponential_random"}, RunSpringExponentialRandom},
          {{"backoff", "spring_fixed"}, RunSpringFixed},
          {{"backoff", "uniform"}, RunUniform},
          {{"budget", "hyperf_budget"}, RunRetryBudget},
          {{"budget", "hyperf_budget_validate"}, RunRetryBudgetValidation},
          {{"throttle", "grpc_throttle"}, RunRetryThrottle},
          {{"throttle", "grpc_throttle_validate"}, RunRetryThrottleValidation},
          {{"breaker", "failsafe"}, RunFailsafeBreaker},
          {{"breaker", "hyperf_cb"}, RunHyperfBreaker},
          {{"breaker", "marpc"}, RunCircuitBreaker},
          {{"breaker", "php_redis"}, RunPhpBreaker},
          {{"breaker", "polly"}, RunPollyBreaker},
          {{"breaker", "polly_should_break"}, RunPollyShouldBreak},
          {{"breaker", "r4j"}, RunR4jBreaker},
          {{"breaker", "r4j_config_validate"}, RunR4jBreakerValidation},
          {{"breaker", "spring_cb"}, RunSpringBreaker},
          {{"classifier", "all"}, RunAllErrors},
          {{"classifier", "huly_network"}, RunHulyClassifier},
          {{"classifier", "hyperf_classifier"}, RunHyperfClassifier},
          {{"classifier", "polly_default"}, RunPollyClassifier},
          {{"classifier", "r4j_record"}, RunR4jRecord},
          {{"classifier", "spring_map"}, RunSpringMap},
          {{"classifier", "marpc"}, RunClassifier},
          {{"outlier", "a50"}, RunOutlierDetection},
          {{"", "filters"}, RunFilters},
          {{"", "filter_order"}, RunFilterOrder},
          {{"", "gray"}, RunGrayRouter},
          {{"", "gray_share"}, RunGrayShare},
          {{"", "gray_validate"}, RunGrayValidation},
          {{"", "marpc_session"}, RunSession},
          {{"", "pipeline"}, RunPipeline},
          {{"", "pipeline_retry"}, RunPipelineRetry},
          {{"", "random"}, RunRandom},
          {{"", "roundrobin"}, RunRoundRobin},
          {{"", "failsafe_session"}, RunFailsafeSession},
          {{"", "grpc_policy_validate"}, RunGrpcPolicyValidation},
          {{"", "grpc_session"}, RunGrpcSession},
          {{"", "huly_session"}, RunHulySession},
          {{"", "hyperf_session"}, RunHyperfSession},
          {{"", "php_fallback"}, RunPhpFallback},
          {{"", "polly_session"}, RunPollySession},
          {{"", "r4j_session"}, RunR4jSession},
          {{"", "spring_listeners"}, RunSpringListeners},
          {{"", "spring_session"}, RunSpringSession},
          {{"", "spring_stateful"}, RunSpringStateful},
      };
  return kinds;
}

// Families whose capabilities marpc does not offer yet: none by now.
const std::set<absl::string_view>& NotBuiltYet() {
  static const auto& kinds = *new std::set<absl::string_view>;
  return kinds;
}

}  // namespace

RunKind FindKind(absl::string_view area, absl::string_view kind) {
  for (absl::string_view of : {area, absl::string_view()}) {
    const auto it = Kinds().find({of, kind});
    if (it != Kinds().end()) return it->second;
  }
  if (NotBuiltYet().contains(kind)) return nullptr;
  throw Unmapped(absl::StrCat("the kind '", kind, "' of the area '", area, "' is unknown"));
}

}  // namespace marpc::vectors
