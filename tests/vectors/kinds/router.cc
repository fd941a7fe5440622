// gray, gray_share, gray_validate (router): the table of a GrayRouter.
// pipeline, pipeline_retry (router): calls of a service with these routers.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/router/gray_router.h"
#include "tests/support/simulated_service.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

using testing::SimulatedService;
using Names = std::vector<std::string>;

std::shared_ptr<Router> MakeGray(int ratio) {
  GrayRouterSettings settings;
  settings.enabled = true;
  settings.ratio = ratio;
  return GrayRouter::Create(settings).value();
}

std::set<std::string> NamesIn(const Json& config, const char* key) {
  return config.value(key, std::set<std::string>());
}

// One decision of the gray router for the instances given.
Json Route(int ratio, const Names& instances, const std::set<std::string>& gray, const Json& dice) {
  SimulatedService service({.name = "vectors.Gray", .instances = instances, .gray = gray});
  const std::shared_ptr<const ServiceState> state = service.state();
  RouteTable::Pool all;
  for (const Candidate& candidate : state->candidates) all.push_back(&candidate);
  const std::unique_ptr<RouteTable> table = MakeGray(ratio)->Build(all);
  testing::ScriptedRandom random;
  if (dice.is_number()) random.dice.push_back(dice.get<uint64_t>());
  const RpcContext context;
  const int pool = table->Choose({service.method(), context, random}, -1);
  Json list = Json::array();
  for (const Candidate* candidate : table->pools()[pool]) {
    list.push_back(candidate->instance.endpoint.host());
  }
  return {{"list", list}, {"diceUsed", random.dice_used > 0}};
}

// Another router under a name and an order of the vector's, noting when it is asked.
class NotingRouter final : public Router {
 public:
  NotingRouter(std::string name, int order, std::shared_ptr<Router> inner, Json& notes)
      : name_(std::move(name)), order_(order), inner_(std::move(inner)), notes_(notes) {}
  absl::string_view name() const override { return name_; }
  int order() const override { return order_; }
  std::unique_ptr<RouteTable> Build(CandidateList candidates) override {
    return std::make_unique<Table>(name_, inner_->Build(candidates), notes_);
  }

 private:
  class Table final : public RouteTable {
   public:
    Table(std::string name, std::unique_ptr<RouteTable> inner, Json& notes)
        : name_(std::move(name)), inner_(std::move(inner)), notes_(notes) {}
    absl::Span<const Pool> pools() const override { return inner_->pools(); }
    int Choose(const RouteQuery& query, int remembered) const override {
      notes_.push_back(name_);
      return inner_->Choose(query, remembered);
    }
    int Fallback(int pool) const override { return inner_->Fallback(pool); }
    std::string Describe(int pool) const override { return inner_->Describe(pool); }

   private:
    const std::string name_;
    const std::unique_ptr<RouteTable> inner_;
    Json& notes_;
  };

  const std::string name_;
  const int order_;
  const std::shared_ptr<Router> inner_;
  Json& notes_;
};

class NotingBalancer final : public LoadBalancer {
 public:
  NotingBalancer(std::unique_ptr<LoadBalancer> inner, Json& notes)
      : inner_(std::move(inner)), notes_(notes) {}
  absl::string_view name() const override { return inner_->name(); }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override {
    return std::make_unique<NotingPicker>(inner_->Build(pool, candidates), notes_);
  }

 private:
  class NotingPicker final : public Picker {
   public:
    NotingPicker(std::unique_ptr<Picker> inner, Json& notes)
        : inner_(std::move(inner)), notes_(notes) {}
    LiveInstance* Pick(const PickQuery& query) const override {
      LiveInstance* picked = inner_->Pick(query);
      if (picked != nullptr) notes_.push_back("lb");
      return picked;
    }

   private:
    const std::unique_ptr<Picker> inner_;
    Json& notes_;
  };

  const std::unique_ptr<LoadBalancer> inner_;
  Json& notes_;
};

// A router of a user's own: lets the named instances through.
class KeepRouter final : public Router {
 public:
  explicit KeepRouter(std::set<std::string> keep) : keep_(std::move(keep)) {}
  absl::string_view name() const override { return "keep"; }
  std::unique_ptr<RouteTable> Build(CandidateList candidates) override {
    auto table = std::make_unique<Table>();
    for (const Candidate* candidate : candidates) {
      if (keep_.contains(candidate->instance.endpoint.host())) table->kept[0].push_back(candidate);
    }
    return table;
  }

 private:
  struct Table final : RouteTable {
    std::vector<Pool> kept = std::vector<Pool>(1);
    absl::Span<const Pool> pools() const override { return kept; }
    int Choose(const RouteQuery&, int) const override { return 0; }
    int Fallback(int) const override { return -1; }
    std::string Describe(int) const override { return "kept"; }
  };
  const std::set<std::string> keep_;
};

void AddRouter(const Json& config, SimulatedService::Options& options, Json& notes) {
  CheckKeys(config, "router", {"name", "order", "ratio", "gray", "keep"});
  const auto name = config.at("name").get<std::string>();
  std::shared_ptr<Router> router;
  if (config.contains("keep")) {
    router = std::make_shared<KeepRouter>(NamesIn(config, "keep"));
  } else {
    router = MakeGray(config.at("ratio").get<int>());
    options.gray.merge(NamesIn(config, "gray"));
  }
  const int order = config.value("order", router->order());
  options.routers.push_back(std::make_shared<NotingRouter>(name, order, router, notes));
}

void Roll(const Json& event, testing::ScriptedRandom& random) {
  random.dice.clear();
  random.draws.clear();
  const Json dice = event.value("dice", Json());
  if (dice.is_number()) random.dice.push_back(dice.get<uint64_t>());
  if (dice.is_array()) random.dice = dice.get<std::deque<uint64_t>>();
  if (event.contains("draw")) random.draws.push_back(event["draw"].get<double>());
}

}  // namespace

Json RunGrayRouter(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "ratio", "gray"});
  int ratio = vector.config.at("ratio").get<int>();
  std::set<std::string> gray = NamesIn(vector.config, "gray");
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "instances", "instance", "dice", "ratio"});
    const std::string op = event.at("op").get<std::string>();
    if (op == "route") {
      got.push_back(
          Route(ratio, event.at("instances").get<Names>(), gray, event.value("dice", Json())));
      continue;
    }
    if (op == "mark") {
      gray.insert(event.at("instance").get<std::string>());
    } else if (op == "unmark") {
      gray.erase(event.at("instance").get<std::string>());
    } else if (op == "clear") {
      gray.clear();
    } else if (op == "ratio" || op == "setRatio") {
      ratio = event.at("ratio").get<int>();
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' of a router is not mapped"));
    }
    got.push_back(nullptr);
  }
  return got;
}

Json RunGrayShare(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "gray", "instances"});
  const auto instances = vector.config.at("instances").get<Names>();
  const std::set<std::string> gray = NamesIn(vector.config, "gray");
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"ratio"});
    int to_gray = 0;
    for (int dice = 0; dice < 100; ++dice) {
      const Json route = Route(event.at("ratio").get<int>(), instances, gray, dice);
      to_gray += !route["list"].empty() && gray.contains(route["list"][0]) ? 1 : 0;
    }
    got.push_back({{"grayOf100", to_gray}});
  }
  return got;
}

Json RunGrayValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"ratio"});
    GrayRouterSettings settings;
    settings.ratio = event.at("ratio").get<int>();
    got.push_back(GrayRouter::Create(settings).ok() ? "ok" : "invalid");
  }
  return got;
}

Json RunPipeline(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "routers", "lb", "instances"});
  Json notes = Json::array();
  SimulatedService::Options options;
  options.name = "vectors.Pipeline";
  options.instances = config.at("instances").get<Names>();
  options.balancer = std::make_unique<NotingBalancer>(ToBalancer(config.at("lb")), notes);
  for (const Json& router : config.at("routers")) AddRouter(router, options, notes);
  SimulatedService service(std::move(options));
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "dice", "draw", "instances"});
    if (event.at("op") != "select") throw Unmapped("a pipeline knows the event 'select' alone");
    if (event.contains("instances")) service.SetInstances(event["instances"].get<Names>());
    Roll(event, service.random());
    notes = Json::array();
    const testing::SimulatedResult result = service.Call(testing::InTurn({testing::Answer()}));
    const Json chosen =
        result.status.ok()
            ? Json(result.instances.at(0))
            : OneOf({"error", result.reason(), absl::StrCat("error:", result.reason())});
    got.push_back({{"order", notes}, {"chosen", chosen}});
  }
  return got;
}

Json RunPipelineRetry(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "ratio", "gray", "instances", "lb", "maxRetries"});
  SimulatedService::Options options;
  options.name = "vectors.Pipeline";
  options.instances = config.at("instances").get<Names>();
  options.gray = NamesIn(config, "gray");
  options.balancer = ToBalancer(config.at("lb"));
  options.routers = {MakeGray(config.at("ratio").get<int>())};
  options.settings.retry.max_retries = config.at("maxRetries").get<int>();
  SimulatedService service(std::move(options));
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "dice", "draw", "outcomes"});
    if (event.at("op") != "call") throw Unmapped("a pipeline_retry knows the event 'call' alone");
    Roll(event, service.random());
    std::vector<testing::SimulatedAttempt> outcomes;
    for (const Json& outcome : event.at("outcomes")) outcomes.push_back(ToAttempt(outcome));
    const testing::SimulatedResult result = service.Call(testing::InTurn(std::move(outcomes)));
    got.push_back({{"instances", result.instances},
                   {"attempts", result.instances.size()},
                   {"result", result.status.ok() ? Json("ok") : ErrorText(result.status)}});
  }
  return got;
}

}  // namespace marpc::vectors
