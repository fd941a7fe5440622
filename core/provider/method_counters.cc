#include "marpc/provider/method_counters.h"

namespace marpc {
namespace {

MethodCalls Snapshot(const MethodCounters::Cell& cell) {
  MethodCalls calls;
  // `arrived` last: a call that arrives meanwhile must not make running() negative.
  calls.ok = cell.ok.load();
  calls.failed = cell.failed.load();
  calls.refused = cell.refused.load();
  calls.arrived = cell.arrived.load();
  return calls;
}

}  // namespace

MethodCounters::Cell& MethodCounters::Of(absl::string_view method) {
  {
    absl::ReaderMutexLock lock(&mutex_);
    const auto it = cells_.find(method);
    if (it != cells_.end()) return it->second;
  }
  absl::MutexLock lock(&mutex_);
  return cells_[std::string(method)];
}

MethodCalls MethodCounters::Read(absl::string_view method) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = cells_.find(method);
  return it == cells_.end() ? MethodCalls{} : Snapshot(it->second);
}

std::map<std::string, MethodCalls> MethodCounters::ReadAll() const {
  absl::ReaderMutexLock lock(&mutex_);
  std::map<std::string, MethodCalls> all;
  for (const auto& [method, cell] : cells_) all.emplace(method, Snapshot(cell));
  return all;
}

}  // namespace marpc
