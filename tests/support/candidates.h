// Candidates by name, for tests of routers and balancers.
#ifndef MARPC_TESTS_SUPPORT_CANDIDATES_H_
#define MARPC_TESTS_SUPPORT_CANDIDATES_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/base/candidate.h"
#include "marpc/base/live_instance.h"

namespace marpc::testing {

class Candidates {
 public:
  // The names that end with '*' are gray.
  explicit Candidates(std::vector<std::string> names) {
    for (std::string& name : names) {
      const bool gray = !name.empty() && name.back() == '*';
      if (gray) name.pop_back();
      live_.emplace_back(Endpoint::Parse(absl::StrCat(name, ":1")).value());
      Candidate& candidate = candidates_.emplace_back();
      candidate.instance.endpoint = live_.back().endpoint();
      candidate.gray = gray;
      candidate.live = &live_.back();
      list_.push_back(&candidate);
    }
  }
  // `size` of them: i0, i1 ...
  explicit Candidates(int size) : Candidates(Numbered(size)) {}
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  CandidateList list() const { return list_; }
  LiveInstance& live(size_t i) { return live_[i]; }
  // To change before a picker is built.
  Instance& instance(size_t i) { return candidates_[i].instance; }
  Candidates& WithWeights(std::vector<int> weights) {
    for (size_t i = 0; i < weights.size(); ++i) instance(i).weight = weights[i];
    return *this;
  }
  // But for that one.
  std::vector<const Candidate*> Without(size_t i) const {
    std::vector<const Candidate*> others = list_;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    return others;
  }

  static std::vector<std::string> Names(CandidateList list) {
    std::vector<std::string> names;
    for (const Candidate* candidate : list) names.push_back(candidate->instance.endpoint.host());
    return names;
  }

 private:
  static std::vector<std::string> Numbered(int size) {
    std::vector<std::string> names;
    for (int i = 0; i < size; ++i) names.push_back(absl::StrCat("i", i));
    return names;
  }

  std::deque<LiveInstance> live_;
  std::deque<Candidate> candidates_;
  std::vector<const Candidate*> list_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_SUPPORT_CANDIDATES_H_
