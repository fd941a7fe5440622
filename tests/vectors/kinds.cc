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
          {{"breaker", "marpc"}, RunCircuitBreaker},
          {{"classifier", "marpc"}, RunClassifier},
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
      };
  return kinds;
}

// Families whose capabilities marpc does not offer yet.
const std::set<absl::string_view>& NotBuiltYet() {
  static const auto& kinds = *new std::set<absl::string_view>{
      "a50",
      "all",
      "array",
      "exponential",
      "failsafe",
      "failsafe_jitter_abs",
      "failsafe_jitter_factor",
      "failsafe_random_range",
      "failsafe_session",
      "fibonacci",
      "fixed",
      "grpc",
      "grpc_policy_validate",
      "grpc_session",
      "grpc_throttle",
      "grpc_throttle_validate",
      "huly_network",
      "huly_session",
      "hyperf_backoff",
      "hyperf_backoff_validate",
      "hyperf_budget",
      "hyperf_budget_validate",
      "hyperf_cb",
      "hyperf_classifier",
      "hyperf_flat",
      "hyperf_session",
      "none",
      "php_fallback",
      "php_redis",
      "polly",
      "polly_constant",
      "polly_default",
      "polly_exponential",
      "polly_linear",
      "polly_session",
      "polly_should_break",
      "r4j",
      "r4j_config_validate",
      "r4j_exponential",
      "r4j_exponential_random",
      "r4j_randomized",
      "r4j_record",
      "r4j_session",
      "r4j_validate",
      "spring_backoff_selection",
      "spring_cb",
      "spring_exponential",
      "spring_exponential_random",
      "spring_fixed",
      "spring_listeners",
      "spring_map",
      "spring_session",
      "spring_stateful",
      "uniform",
  };
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
