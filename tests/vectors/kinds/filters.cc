// filters (cache, mock): calls through the CacheFilter and the MockFilter of one consumer.
// filter_order (mock): calls through filters that note when they are asked.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/struct.pb.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/mock_filter.h"
#include "tests/support/simulated_service.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

using testing::SimulatedService;

CacheSettings ToCacheSettings(const Json& config) {
  CacheSettings settings;
  if (config.contains("ttlMs")) settings.ttl = Milliseconds(config["ttlMs"]);
  settings.max_entries = config.value("maxEntries", settings.max_entries);
  settings.max_bytes = config.value("maxBytes", settings.max_bytes);
  if (config.contains("varyOn")) {
    settings.vary_on = config["varyOn"].get<std::vector<std::string>>();
  }
  return settings;
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// A consumer: its filters serve all services, each of which has its own breaker.
class FilterCase {
 public:
  explicit FilterCase(const Json& config) : config_(config) {
    CheckKeys(config, "config",
              {"kind", "chain", "breaker", "maxRetries", "ttlMs", "maxEntries", "maxBytes",
               "varyOn", "cache", "instances"});
    settings_.cache = ToCacheSettings(config.value("cache", config));
    settings_.retry.max_retries = config.value("maxRetries", 0);
    settings_.circuit_breaker = ToBreakerSettings(config.value("breaker", Json()));
    settings_.circuit_breaker.enabled &= config.contains("breaker");
    for (const Json& name : config.at("chain")) {
      if (name == "cache") {
        settings_.cache.enabled = true;
        filters_.push_back(cache_);
      } else if (name == "mock") {
        settings_.mock.enabled = true;
        filters_.push_back(mock_);
      } else {
        throw Unmapped(absl::StrCat("the filter ", name.dump(), " is not mapped"));
      }
    }
  }

  Json Apply(const Json& event) {
    const std::string op = event.at("op").get<std::string>();
    if (op == "invoke") return Invoke(event);
    CheckKeys(event, "event", {"op", "methodSign", "service", "value", "error", "ms"});
    if (op == "mock") {
      Mock(event);
    } else if (op == "clearMocks") {
      mock_->Clear();
    } else if (op == "clearCache") {
      cache_->Clear();
    } else if (op == "advance") {
      clock_->Advance(Milliseconds(event.at("ms")));
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' of a filter is not mapped"));
    }
    return {{"cacheSize", cache_->size()}};
  }

 private:
  // By the signature alone, or for one service only.
  void Mock(const Json& event) {
    std::string method = event.at("methodSign").get<std::string>();
    if (event.contains("service")) {
      method = absl::StrCat(event["service"].get<std::string>(), "/", method);
    }
    if (event.contains("error")) {
      mock_->Fail(method, absl::UnknownError(event["error"].get<std::string>()));
    } else {
      mock_->Reply(method, ToValue(event.at("value")));
    }
  }

  Json Invoke(const Json& event) {
    CheckKeys(event, "event", {"op", "service", "methodSign", "args", "remote", "context"});
    google::protobuf::ListValue request;
    const google::protobuf::Value args = ToValue(event.value("args", Json::array()));
    request = args.list_value();
    google::protobuf::Value reply;
    SimulatedService::CallOptions call;
    call.method = event.at("methodSign").get<std::string>();
    call.request = &request;
    call.reply = &reply;
    const Json context = event.value("context", Json::object());
    for (const auto& [key, value] : context.items()) {
      if (!call.context.Set(key, TextOf(value)).ok()) throw Unmapped("no such context key: " + key);
    }
    bool called = false;
    const testing::SimulatedResult result = Service(event.at("service").get<std::string>())
                                                .Call(
                                                    [&](const std::string&, const Step&) {
                                                      called = true;
                                                      return ToAttempt(event.at("remote"));
                                                    },
                                                    call);
    return {{"remoteCalled", called},
            {"result", result.status.ok() ? FromValue(reply) : ErrorText(result.status)},
            {"cacheSize", cache_->size()}};
  }

  SimulatedService& Service(const std::string& name) {
    std::unique_ptr<SimulatedService>& service = services_[name];
    if (service == nullptr) {
      SimulatedService::Options options;
      options.name = name;
      options.settings = settings_;
      options.instances = config_.value("instances", std::vector<std::string>{"a", "b", "c"});
      options.filters = filters_;
      options.clock = clock_;
      service = std::make_unique<SimulatedService>(std::move(options));
    }
    return *service;
  }

  const Json config_;
  const std::shared_ptr<SimulatedClock> clock_ = std::make_shared<SimulatedClock>();
  const std::shared_ptr<CacheFilter> cache_ = std::make_shared<CacheFilter>();
  const std::shared_ptr<MockFilter> mock_ = std::make_shared<MockFilter>();
  MethodSettings settings_;
  std::vector<std::shared_ptr<Filter>> filters_;
  std::map<std::string, std::unique_ptr<SimulatedService>> services_;
};

class NotingFilter final : public Filter {
 public:
  NotingFilter(std::string name, int order, const std::string& answers, Json& notes)
      : name_(std::move(name)), order_(order), answers_(answers), notes_(notes) {}
  absl::string_view name() const override { return name_; }
  int order() const override { return order_; }
  Verdict Before(FilterCall&) override {
    notes_.push_back("pre:" + name_);
    if (answers_ != name_) return Verdict::Continue();
    return Verdict::Answer(absl::OkStatus(), CallReport::Answer::kMock);
  }
  void After(FilterCall&, const absl::Status&) override { notes_.push_back("post:" + name_); }

 private:
  const std::string name_;
  const int order_;
  const std::string& answers_;  // the name of the filter that answers this call
  Json& notes_;
};

}  // namespace

Json RunFilters(const VectorCase& vector) {
  FilterCase filters(vector.config);
  Json got = Json::array();
  for (const Json& event : vector.input) got.push_back(filters.Apply(event));
  return got;
}

Json RunFilterOrder(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "filters"});
  Json notes = Json::array();
  std::string answers;
  SimulatedService::Options options;
  options.name = "vectors.FilterOrder";
  options.instances = {"a"};
  for (const Json& filter : vector.config.at("filters")) {
    CheckKeys(filter, "filter", {"name", "order"});
    options.filters.push_back(std::make_shared<NotingFilter>(
        filter.at("name").get<std::string>(), filter.value("order", 0), answers, notes));
  }
  SimulatedService service(std::move(options));
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"remote", "shortCircuitAt"});
    answers = event.value("shortCircuitAt", "");
    notes = Json::array();
    service.Call([&](const std::string&, const Step&) {
      notes.push_back("remote");
      return ToAttempt(event.at("remote"));
    });
    got.push_back({{"trace", notes}});
  }
  return got;
}

}  // namespace marpc::vectors
