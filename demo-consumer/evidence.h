// What a scene saw: measured values, and the claims that did not hold.
#ifndef DEMO_CONSUMER_EVIDENCE_H_
#define DEMO_CONSUMER_EVIDENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace demo {

// Not thread-safe.
class Evidence {
 public:
  // A claim of the scene. One that does not hold fails it; `claim` says what was to be.
  bool Expect(bool holds, const std::string& claim);
  bool ExpectOk(const absl::Status& status, const std::string& what);
  template <typename Got, typename Want>
  bool ExpectEqual(const Got& got, const Want& want, const std::string& what) {
    return Expect(got == want, absl::StrCat(what, " is ", got, ", not ", want));
  }

  // `key` in the form failed_calls. Values appear in the order in which they were measured.
  void Measure(const std::string& key, nlohmann::ordered_json value) {
    measured_[key] = std::move(value);
  }
  // The scene in a few words, for the table.
  void Summarise(std::string summary) { summary_ = std::move(summary); }

  const std::vector<std::string>& faults() const { return faults_; }
  const nlohmann::ordered_json& measured() const { return measured_; }
  const std::string& summary() const { return summary_; }

 private:
  std::vector<std::string> faults_;
  nlohmann::ordered_json measured_ = nlohmann::ordered_json::object();
  std::string summary_;
};

// Code and message, without the payloads that ToString() adds.
std::string InWords(const absl::Status& status);

// How many arrived where, and in all.
using CountByInstance = std::map<std::string, int64_t>;
int64_t Sum(const CountByInstance& counts);

}  // namespace demo

#endif  // DEMO_CONSUMER_EVIDENCE_H_
