// Counts the heap allocations of a thread, by replacing the program's operator new.
#ifndef BENCH_MICRO_ALLOCATION_COUNT_H_
#define BENCH_MICRO_ALLOCATION_COUNT_H_

#include <cstdint>

namespace marpc::bench {

// Made by the calling thread since its start.
uint64_t AllocationsOfThisThread();

}  // namespace marpc::bench

#endif  // BENCH_MICRO_ALLOCATION_COUNT_H_
