// The kinds of vectors, each mapped onto marpc's own policies by one function.
//
// A new kind: write its function in kinds/<area>.cc, declare it here, enter it in kinds.cc.
#ifndef MARPC_TESTS_VECTORS_KINDS_H_
#define MARPC_TESTS_VECTORS_KINDS_H_

#include "absl/strings/string_view.h"
#include "tests/vectors/vector_case.h"

namespace marpc::vectors {

// What marpc does with the case: a list with one entry an event. Throws Unmapped, or what the JSON
// library throws at a malformed case.
using RunKind = Json (*)(const VectorCase& vector);

// Null for a kind that marpc cannot do yet; throws Unmapped for one that nobody has heard of.
RunKind FindKind(absl::string_view area, absl::string_view kind);

// The area backoff.
Json RunDelayList(const VectorCase& vector);                // array
Json RunExponential(const VectorCase& vector);              // exponential
Json RunFailsafeJitter(const VectorCase& vector);           // failsafe_jitter_abs
Json RunFailsafeJitterFactor(const VectorCase& vector);     // failsafe_jitter_factor
Json RunFailsafeRange(const VectorCase& vector);            // failsafe_random_range
Json RunFibonacci(const VectorCase& vector);                // fibonacci
Json RunFixed(const VectorCase& vector);                    // fixed
Json RunGrpcBackoff(const VectorCase& vector);              // grpc
Json RunHyperfBackoff(const VectorCase& vector);            // hyperf_backoff
Json RunHyperfBackoffValidation(const VectorCase& vector);  // hyperf_backoff_validate
Json RunHyperfFlat(const VectorCase& vector);               // hyperf_flat
Json RunNoBackoff(const VectorCase& vector);                // none
Json RunPollyConstant(const VectorCase& vector);            // polly_constant
Json RunPollyExponential(const VectorCase& vector);         // polly_exponential
Json RunPollyLinear(const VectorCase& vector);              // polly_linear
Json RunR4jExponential(const VectorCase& vector);           // r4j_exponential
Json RunR4jExponentialRandom(const VectorCase& vector);     // r4j_exponential_random
Json RunR4jRandomized(const VectorCase& vector);            // r4j_randomized
Json RunR4jBackoffValidation(const VectorCase& vector);     // r4j_validate
Json RunSpringBackoffSelection(const VectorCase& vector);   // spring_backoff_selection
Json RunSpringExponential(const VectorCase& vector);        // spring_exponential
Json RunSpringExponentialRandom(const VectorCase& vector);  // spring_exponential_random
Json RunSpringFixed(const VectorCase& vector);              // spring_fixed
Json RunUniform(const VectorCase& vector);                  // uniform

// The area breaker.
Json RunCircuitBreaker(const VectorCase& vector);        // marpc
Json RunFailsafeBreaker(const VectorCase& vector);       // failsafe
Json RunHyperfBreaker(const VectorCase& vector);         // hyperf_cb
Json RunPhpBreaker(const VectorCase& vector);            // php_redis
Json RunPollyBreaker(const VectorCase& vector);          // polly
Json RunPollyShouldBreak(const VectorCase& vector);      // polly_should_break
Json RunR4jBreaker(const VectorCase& vector);            // r4j
Json RunR4jBreakerValidation(const VectorCase& vector);  // r4j_config_validate
Json RunSpringBreaker(const VectorCase& vector);         // spring_cb

Json RunOutlierDetection(const VectorCase& vector);  // a50

Json RunAllErrors(const VectorCase& vector);                // all
Json RunHulyClassifier(const VectorCase& vector);           // huly_network
Json RunHyperfClassifier(const VectorCase& vector);         // hyperf_classifier
Json RunPollyClassifier(const VectorCase& vector);          // polly_default
Json RunR4jRecord(const VectorCase& vector);                // r4j_record
Json RunSpringMap(const VectorCase& vector);                // spring_map
Json RunClassifier(const VectorCase& vector);               // marpc, area classifier
Json RunFilters(const VectorCase& vector);                  // filters
Json RunFilterOrder(const VectorCase& vector);              // filter_order
Json RunGrayRouter(const VectorCase& vector);               // gray
Json RunGrayShare(const VectorCase& vector);                // gray_share
Json RunGrayValidation(const VectorCase& vector);           // gray_validate
Json RunPipeline(const VectorCase& vector);                 // pipeline
Json RunPipelineRetry(const VectorCase& vector);            // pipeline_retry
Json RunRandom(const VectorCase& vector);                   // random
Json RunRoundRobin(const VectorCase& vector);               // roundrobin
Json RunSession(const VectorCase& vector);                  // marpc_session
Json RunFailsafeSession(const VectorCase& vector);          // failsafe_session
Json RunGrpcPolicyValidation(const VectorCase& vector);     // grpc_policy_validate
Json RunGrpcSession(const VectorCase& vector);              // grpc_session
Json RunHulySession(const VectorCase& vector);              // huly_session
Json RunHyperfSession(const VectorCase& vector);            // hyperf_session
Json RunPhpFallback(const VectorCase& vector);              // php_fallback
Json RunPollySession(const VectorCase& vector);             // polly_session
Json RunR4jSession(const VectorCase& vector);               // r4j_session
Json RunSpringListeners(const VectorCase& vector);          // spring_listeners
Json RunSpringSession(const VectorCase& vector);            // spring_session
Json RunSpringStateful(const VectorCase& vector);           // spring_stateful
Json RunRetryBudget(const VectorCase& vector);              // hyperf_budget
Json RunRetryBudgetValidation(const VectorCase& vector);    // hyperf_budget_validate
Json RunRetryThrottle(const VectorCase& vector);            // grpc_throttle
Json RunRetryThrottleValidation(const VectorCase& vector);  // grpc_throttle_validate

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_KINDS_H_
