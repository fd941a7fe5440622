#include "bench/micro/allocation_count.h"

#include <cstdlib>
#include <new>

namespace marpc::bench {
namespace {

thread_local uint64_t allocations = 0;

void* Allocate(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

uint64_t AllocationsOfThisThread() { return allocations; }

}  // namespace marpc::bench

void* operator new(std::size_t size) { return marpc::bench::Allocate(size); }
void* operator new[](std::size_t size) { return marpc::bench::Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
