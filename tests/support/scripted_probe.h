// Health checks whose answers the test gives.
#ifndef MARPC_TESTS_SUPPORT_SCRIPTED_PROBE_H_
#define MARPC_TESTS_SUPPORT_SCRIPTED_PROBE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "marpc/health/health_probe.h"

namespace marpc::testing {

// Not thread-safe.
class ScriptedProbe final : public HealthProbe {
 public:
  // By host; others are serving.
  std::map<std::string, HealthAnswer> answers;
  // The answers wait until Release().
  bool holds = false;
  // What was asked, in order.
  std::vector<std::string> asked;  // hosts
  Question last_question;

  void Check(const std::shared_ptr<LiveInstance>& instance, const Question& question,
             absl::AnyInvocable<void(Result)> done) override {
    const std::string host = instance->endpoint().host();
    asked.push_back(host);
    last_question = question;
    held_.push_back({host, std::move(done)});
    if (!holds) Release();
  }
  size_t under_way() const { return held_.size(); }
  // What is under way is answered.
  void Release() {
    for (auto& [host, done] : std::exchange(held_, {})) done(ResultOf(host));
  }
  void ReleaseOne() {
    auto first = std::move(held_.front());
    held_.erase(held_.begin());
    first.second(ResultOf(first.first));
  }
  int times(const std::string& host) const {
    int count = 0;
    for (const std::string& one : asked) count += one == host ? 1 : 0;
    return count;
  }

 private:
  Result ResultOf(const std::string& host) const {
    const auto found = answers.find(host);
    const HealthAnswer answer = found == answers.end() ? HealthAnswer::kServing : found->second;
    switch (answer) {
      case HealthAnswer::kNoAnswer:
        return {answer, absl::DeadlineExceededError("no answer in time")};
      case HealthAnswer::kNotSupported:
        return {answer, absl::UnimplementedError("no health service")};
      default:
        return {answer, absl::OkStatus()};
    }
  }

  std::vector<std::pair<std::string, absl::AnyInvocable<void(Result)>>> held_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_SUPPORT_SCRIPTED_PROBE_H_
