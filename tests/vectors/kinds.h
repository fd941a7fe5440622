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

Json RunCircuitBreaker(const VectorCase& vector);  // marpc, area breaker
Json RunClassifier(const VectorCase& vector);      // marpc, area classifier
Json RunFilters(const VectorCase& vector);         // filters
Json RunFilterOrder(const VectorCase& vector);     // filter_order
Json RunGrayRouter(const VectorCase& vector);      // gray
Json RunGrayShare(const VectorCase& vector);       // gray_share
Json RunGrayValidation(const VectorCase& vector);  // gray_validate
Json RunPipeline(const VectorCase& vector);        // pipeline
Json RunPipelineRetry(const VectorCase& vector);   // pipeline_retry
Json RunRandom(const VectorCase& vector);          // random
Json RunRoundRobin(const VectorCase& vector);      // roundrobin
Json RunSession(const VectorCase& vector);         // marpc_session

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_KINDS_H_
