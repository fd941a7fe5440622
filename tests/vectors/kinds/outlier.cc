// The kind a50: gRPC's outlier detection (gRFC A50), which is marpc's outlier ejection with no
// other reasons to eject.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "marpc/outlier/outlier_detector.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

OutlierSettings ToSettings(const Json& config) {
  CheckKeys(config, "config",
            {"kind", "intervalMs", "baseEjectionMs", "maxEjectionMs", "maxEjectionPercent",
             "successRate", "failurePercentage", "report"});
  OutlierSettings settings;
  settings.enabled = true;
  settings.eject_on = {false, false, false, false, false};
  // A50 has no such thing.
  settings.panic_threshold = 0;
  const auto time = [&](const char* key, absl::Duration& target) {
    if (config.contains(key)) target = Milliseconds(config[key]);
  };
  time("intervalMs", settings.interval);
  time("baseEjectionMs", settings.base_ejection_time);
  time("maxEjectionMs", settings.max_ejection_time);
  settings.max_ejection_percent = config.value("maxEjectionPercent", settings.max_ejection_percent);
  if (config.contains("successRate") && !config["successRate"].is_null()) {
    const Json& given = config["successRate"];
    CheckKeys(given, "successRate",
              {"stdevFactor", "enforcementPercent", "minimumHosts", "requestVolume"});
    SuccessRateRule& rule = settings.success_rate;
    settings.eject_on.success_rate = true;
    rule.stdev_factor = given.value("stdevFactor", rule.stdev_factor);
    rule.enforcement_percent = given.value("enforcementPercent", rule.enforcement_percent);
    rule.minimum_hosts = given.value("minimumHosts", rule.minimum_hosts);
    rule.request_volume = given.value("requestVolume", rule.request_volume);
  }
  if (config.contains("failurePercentage") && !config["failurePercentage"].is_null()) {
    const Json& given = config["failurePercentage"];
    CheckKeys(
        given, "failurePercentage",
        {"thresholdPercent", "threshold", "enforcementPercent", "minimumHosts", "requestVolume"});
    FailurePercentageRule& rule = settings.failure_percentage;
    settings.eject_on.failure_percentage = true;
    rule.threshold = given.value("threshold", rule.threshold);
    rule.threshold = given.value("thresholdPercent", rule.threshold);
    rule.enforcement_percent = given.value("enforcementPercent", rule.enforcement_percent);
    rule.minimum_hosts = given.value("minimumHosts", rule.minimum_hosts);
    rule.request_volume = given.value("requestVolume", rule.request_volume);
  }
  return settings;
}

// marpc's detector on a virtual clock; hosts are known from when they are first heard of.
class OutlierRig {
 public:
  explicit OutlierRig(const OutlierSettings& settings)
      : settings_(settings), detector_(settings, clock_.Now(), {}) {
    Know({});
  }

  void Know(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const Endpoint endpoint = Endpoint::Parse(absl::StrCat(name, ":1")).value();
      if (Find(name) == nullptr) hosts_.push_back(std::make_shared<LiveInstance>(endpoint));
    }
    ejections_ = detector_.ForInstances(hosts_, clock_.Now());
  }

  Json Interval(const Json& event) {
    std::vector<std::string> names;
    const Json calls = event.value("calls", Json::array());
    for (const Json& host : calls) names.push_back(host.at("host").get<std::string>());
    Know(names);
    for (const Json& host : calls) {
      CheckKeys(host, "host", {"host", "ok", "fail"});
      Call(host.at("host").get<std::string>(), host.value("ok", 0), false);
      Call(host.at("host").get<std::string>(), host.value("fail", 0), true);
    }
    random_.dice.clear();
    for (const Json& draw : event.value("draws", Json::array())) {
      random_.dice.push_back(draw.get<uint64_t>());
    }
    clock_.Advance(settings_.interval);
    return State();
  }

  Json Advance(absl::Duration by) {
    clock_.Advance(by);
    return State();
  }

  Json State() {
    const OutlierSnapshot snapshot = detector_.GetSnapshot(clock_.Now(), random_);
    Json state = {{"ejected", Json::array()},
                  {"mean", snapshot.success_rates.mean},
                  {"stdev", snapshot.success_rates.stdev},
                  {"threshold", snapshot.success_rates.threshold},
                  {"multipliers", Json::object()}};
    for (const OutlierSnapshot::Instance& instance : snapshot.instances) {
      const std::string name = instance.name.substr(0, instance.name.find(':'));
      const Ejection& ejection = instance.ejection;
      if (ejection.ejected) state["ejected"].push_back(name);
      state["multipliers"][name] = ejection.multiplier;
    }
    return state;
  }

 private:
  LiveInstance* Find(const std::string& name) const {
    const auto found = std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& host) {
      return host->endpoint().host() == name;
    });
    return found == hosts_.end() ? nullptr : found->get();
  }
  void Call(const std::string& name, int times, bool failed) {
    const LiveInstance* host = Find(name);
    for (int i = 0; i < times; ++i) {
      ejections_->OnAttempt(host, {clock_.Now(), failed, std::nullopt}, clock_.Now(), random_);
    }
  }

  const OutlierSettings settings_;
  SimulatedClock clock_;
  testing::ScriptedRandom random_;
  OutlierDetector detector_;
  std::vector<std::shared_ptr<LiveInstance>> hosts_;
  std::shared_ptr<const Ejections> ejections_;
};

// "multiplier of e after each sweep": which host is reported.
std::string ReportedHost(const Json& config) {
  const std::string report = config.value("report", "");
  constexpr absl::string_view kOf = " of ";
  const size_t at = report.find(kOf.data());
  if (at == std::string::npos) return "";
  const size_t begin = at + kOf.size();
  return report.substr(begin, report.find(' ', begin) - begin);
}

}  // namespace

Json RunOutlierDetection(const VectorCase& vector) {
  const OutlierSettings settings = ToSettings(vector.config);
  const std::string reported = ReportedHost(vector.config);
  auto rig = std::make_unique<OutlierRig>(settings);
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "calls", "draws", "multiplier", "ms", "hosts"});
    const auto op = event.at("op").get<std::string>();
    Json state;
    if (op == "interval") {
      state = rig->Interval(event);
    } else if (op == "hosts") {
      rig->Know(event.at("hosts").get<std::vector<std::string>>());
    } else if (op == "advance") {
      state = rig->Advance(Milliseconds(event.at("ms")));
    } else if (op == "reset") {
      rig = std::make_unique<OutlierRig>(settings);
    } else if (op == "ejectionTime") {
      const absl::Duration time =
          OutlierPolicy(settings).EjectionTime(event.at("multiplier").get<int>());
      state = {{"ms", absl::ToInt64Milliseconds(time)}, {"seconds", absl::ToInt64Seconds(time)}};
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' of outlier detection is not mapped"));
    }
    if (state.contains("multipliers") && !reported.empty()) {
      state["multiplier"] = state["multipliers"].value(reported, 0);
    }
    got.push_back(std::move(state));
  }
  return got;
}

}  // namespace marpc::vectors
