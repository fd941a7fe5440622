// Included by the parts of CircuitBreaker alone.
#ifndef MARPC_CIRCUITBREAKER_LOCKED_H_
#define MARPC_CIRCUITBREAKER_LOCKED_H_

#include <utility>
#include <vector>

#include "marpc/base/user_code.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/observe/log.h"

namespace marpc {

template <typename Change>
void CircuitBreaker::Locked(Change change) {
  PlainMutexLock lock(&mutex_);
  change();
  if (announcing_ || unannounced_.empty()) return;  // by another thread, or further up in this one
  announcing_ = true;
  while (!unannounced_.empty()) {
    const std::vector<Transition> transitions = std::exchange(unannounced_, {});
    mutex_.unlock();
    for (const Transition& transition : transitions) {
      try {
        listener_(transition);
      } catch (...) {
        Logger()->error("event=breaker_listener_threw what=\"{}\"", WhatWasThrown());
      }
    }
    mutex_.lock();
  }
  announcing_ = false;
}

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_LOCKED_H_
