// What operators say of a service for the whole cluster (registry/directives.h), as one consumer
// obeys it.
#ifndef MARPC_CONSUMER_OBEYED_DIRECTIVES_H_
#define MARPC_CONSUMER_OBEYED_DIRECTIVES_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "marpc/base/clock.h"
#include "marpc/circuitbreaker/service_breakers.h"
#include "marpc/config/degradation_settings.h"
#include "marpc/degradation/degradation_levels.h"
#include "marpc/registry/directives.h"

namespace marpc {

// Acts on changes alone, so that what this process's own operator says after a directive holds:
// until the directive changes, and when it is taken back, too. Unless it says what the directive
// does: the two cannot be told apart, and what is taken back ends both. Not thread-safe.
class ObeyedDirectives {
 public:
  // `usual` is the service's level without a word.
  ObeyedDirectives(std::string service, DegradationLevels& levels, DegradationLevel usual)
      : service_(std::move(service)), levels_(levels), usual_(usual) {}

  // What the newest list says. Logs what has changed (event=directive), and, once, what is not
  // understood. Sets the level; returns the states that breakers begin in from now on.
  ServiceBreakers::States Take(const Directives& told);
  bool changes_breakers() const { return !changes_.empty(); }
  // Does what that has changed of the breakers that there are. Tells their listeners, so call it
  // without a lock.
  void Obey(const std::vector<ServiceBreakers::Named>& breakers, MonotonicTime now);
  // Once the list's own breakers are made: warns of new directives for which there is none
  // (event=directive_without_breaker). They act on one that is made later.
  using Breakers = std::function<std::vector<ServiceBreakers::Named>()>;
  void WarnOfUnmatched(const Breakers& breakers);

 private:
  // Empty: it is not there.
  struct Change {
    std::string before;
    std::string after;
  };
  void ObeyLevel(const Change& change);

  const std::string service_;
  DegradationLevels& levels_;
  const DegradationLevel usual_;
  Directives told_;
  Directives understood_;                  // of them
  std::map<std::string, Change> changes_;  // by key, of breakers; not done yet
  std::set<std::string> unmatched_;        // names that had no breaker yet
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_OBEYED_DIRECTIVES_H_
