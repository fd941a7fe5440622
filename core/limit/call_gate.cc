#include "marpc/limit/call_gate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"

namespace marpc {

class CallGate::Method {
 public:
  struct NamedRate {
    std::string name;
    std::shared_ptr<RateLimit> limit;
  };
  absl::InlinedVector<NamedRate, 3> rates;
  absl::InlinedVector<LimitedCalls*, 3> concurrency;
  std::atomic<int> waiting{0};
  std::array<Line, kPriorities> lines;  // guarded by the gate
};

namespace {

// The limits that the calls of `method` have, from the narrowest to the widest.
std::array<std::string, 3> ScopesOf(absl::string_view method) {
  return {std::string(method), std::string(method.substr(0, method.rfind('/'))), kAllCalls};
}

}  // namespace

absl::Status CallGate::Validate(const ProviderLimitSettings& settings) {
  const auto wrong = [](absl::string_view key, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("provider.limit.", key, " ", what));
  };
  for (const auto& [name, limit] : settings.max_concurrent) {
    if (!limit.automatic && limit.calls < 1) {
      return wrong("maxConcurrent", absl::StrCat("of ", name, " must be at least 1"));
    }
  }
  const auto is_rate = [](double rate) { return rate > 0 && rate <= 1e6; };
  for (const auto& [name, rate] : settings.rate) {
    if (!is_rate(rate)) {
      return wrong("rate", absl::StrCat("of ", name, " must be above 0, up to 1000000"));
    }
  }
  if (settings.caller_rate != 0 && !is_rate(settings.caller_rate)) {
    return wrong("callerRate", "must be 0 to 1000000");
  }
  if (settings.rate_window <= absl::ZeroDuration() || settings.rate_window > absl::Hours(1)) {
    return wrong("rateWindow", "must be above 0, up to 1h");
  }
  if (settings.max_waiting < 0) return wrong("maxWaiting", "must not be negative");
  if (settings.max_wait <= absl::ZeroDuration()) return wrong("maxWait", "must be longer than 0");
  if (settings.pushback < absl::ZeroDuration()) return wrong("pushback", "must not be negative");
  const auto is_share = [](double share) { return share > 0 && share <= 100; };
  if (!is_share(settings.normal_share)) return wrong("normalShare", "must be above 0, up to 100");
  if (!is_share(settings.sheddable_share) || settings.sheddable_share > settings.normal_share) {
    return wrong("sheddableShare", "must be above 0, up to normalShare");
  }
  const GradientSettings& gradient = settings.gradient;
  if (gradient.min < 1 || gradient.initial < 1) return wrong("auto", "begins at 1");
  if (gradient.max < gradient.min) return wrong("auto.max", "must not be below auto.min");
  if (!(gradient.tolerance >= 1)) return wrong("auto.tolerance", "must be at least 1");
  if (gradient.window <= absl::ZeroDuration() || gradient.remeasure <= absl::ZeroDuration()) {
    return wrong("auto", "needs a window and a remeasure longer than 0");
  }
  return absl::OkStatus();
}

CallGate::CallGate(const ProviderLimitSettings& settings,
                   std::function<void(MonotonicTime)> wake_at)
    : settings_(settings),
      shares_{1, settings.normal_share / 100, settings.sheddable_share / 100},
      wake_at_(std::move(wake_at)) {
  PlainMutexLock lock(&mutex_);
  if (settings.caller_rate > 0) {
    callers_ = std::make_unique<CallerRates>(settings.caller_rate, settings.rate_window);
  }
  for (const auto& [name, limit] : settings.max_concurrent) {
    concurrency_[name] = std::make_unique<LimitedCalls>(name, limit, settings.gradient);
  }
  for (const auto& [name, rate] : settings.rate) {
    rates_[name] = std::make_shared<RateLimit>(rate, settings.rate_window);
  }
}

CallGate::~CallGate() = default;

CallGate::Method* CallGate::Of(absl::string_view name) {
  PlainMutexLock lock(&mutex_);
  std::unique_ptr<Method>& method = methods_[std::string(name)];
  if (method == nullptr) {
    method = std::make_unique<Method>();
    for (const std::string& scope : ScopesOf(name)) {
      const auto rate = rates_.find(scope);
      if (rate != rates_.end()) method->rates.push_back({scope, rate->second});
      const auto concurrency = concurrency_.find(scope);
      if (concurrency != concurrency_.end()) {
        method->concurrency.push_back(concurrency->second.get());
      }
    }
  }
  const bool limited =
      !method->rates.empty() || !method->concurrency.empty() || callers_ != nullptr;
  return limited ? method.get() : nullptr;
}

std::vector<std::string> CallGate::UnusedNames() const {
  PlainMutexLock lock(&mutex_);
  std::set<std::string> names;
  for (const auto& [name, limit] : concurrency_) names.insert(name);
  for (const auto& [name, limit] : rates_) names.insert(name);
  for (const auto& [name, method] : methods_) {
    for (const std::string& scope : ScopesOf(name)) names.erase(scope);
  }
  return {names.begin(), names.end()};
}

std::optional<CallGate::Refusal> CallGate::TakeRates(Method& method, const Arrival& arrival,
                                                     MonotonicTime now, TakenRates& taken) {
  const auto take = [&](const std::shared_ptr<RateLimit>& limit, absl::string_view key,
                        absl::string_view whose) -> std::optional<Refusal> {
    if (limit->TryTake(now, ShareOf(arrival.priority))) {
      taken.push_back(limit);
      return std::nullopt;
    }
    for (const auto& one : taken) one->GiveBack(now);
    Refusal refusal;
    refusal.reason = reason::kRateLimited;
    refusal.message = absl::StrCat("too many calls a second of ", whose, " (", key, ")");
    if (settings_.pushback > absl::ZeroDuration()) {
      refusal.retry_after = limit->RetryAfter(now);
      refusal.spread = settings_.pushback;
    }
    return refusal;
  };
  // The caller's own first: one that asks too often takes nothing from the others.
  if (callers_ != nullptr) {
    auto refusal =
        take(callers_->Of(arrival.caller, now), "provider.limit.callerRate", "this caller");
    if (refusal.has_value()) return refusal;
  }
  for (const auto& [name, limit] : method.rates) {
    auto refusal = take(limit, "provider.limit.rate", name);
    if (refusal.has_value()) return refusal;
  }
  return std::nullopt;
}

const LimitedCalls* CallGate::TakePlaces(Method& method, Priority priority) {
  for (size_t i = 0; i < method.concurrency.size(); ++i) {
    if (method.concurrency[i]->TryTake(ShareOf(priority))) continue;
    const LimitedCalls* const full = method.concurrency[i];
    while (i-- > 0) method.concurrency[i]->GiveBack();
    return full;
  }
  return nullptr;
}

CallGate::Refusal CallGate::Overloaded(std::string why) const {
  Refusal refusal;
  refusal.reason = reason::kOverloaded;
  refusal.message = std::move(why);
  refusal.retry_after = settings_.pushback / 2;
  refusal.spread = settings_.pushback;
  return refusal;
}

CallGate::Refusal CallGate::WaitIsOver(const Entry& entry) const {
  if (!entry.until_deadline) {
    return Overloaded(absl::StrCat("no place became free within ",
                                   absl::FormatDuration(settings_.max_wait),
                                   " (provider.limit.maxConcurrent, provider.limit.maxWait)"));
  }
  Refusal refusal;
  refusal.code = absl::StatusCode::kDeadlineExceeded;
  refusal.reason = reason::kDeadline;
  refusal.message = "the deadline passed while the call waited for a place; it did not run";
  return refusal;
}

CallGate::Decision CallGate::Arrive(Method& method, const Arrival& arrival, MonotonicTime now) {
  Decision decision;
  decision.verdict = Decision::Verdict::kRefuse;
  if (arrival.deadline <= now) {
    decision.refusal.code = absl::StatusCode::kDeadlineExceeded;
    decision.refusal.reason = reason::kDeadline;
    decision.refusal.message = "the deadline passed before the call came; it did not run";
    return decision;
  }
  TakenRates taken;
  if (auto refusal = TakeRates(method, arrival, now, taken); refusal.has_value()) {
    decision.refusal = *std::move(refusal);
    return decision;
  }
  const bool may_wait = settings_.max_waiting > 0;
  const bool others_wait = may_wait && method.waiting.load() > 0;
  const LimitedCalls* const full = others_wait ? nullptr : TakePlaces(method, arrival.priority);
  if (!others_wait && full == nullptr) {
    decision.verdict = Decision::Verdict::kRun;
  } else if (may_wait) {
    decision.verdict = Decision::Verdict::kWait;
  } else {
    for (const auto& one : taken) one->GiveBack(now);
    decision.refusal =
        Overloaded(absl::StrCat("as many calls of ", full->name(), " as may are under way (",
                                full->limit(), ", provider.limit.maxConcurrent)"));
  }
  return decision;
}

void CallGate::Wait(Method& method, const Arrival& arrival, std::shared_ptr<Waiter> waiter,
                    MonotonicTime now) {
  Entry entry;
  entry.until = std::min(now + settings_.max_wait, arrival.deadline);
  entry.until_deadline = entry.until == arrival.deadline;
  entry.waiter = std::move(waiter);
  const MonotonicTime until = entry.until;
  std::shared_ptr<Waiter> refused;
  bool wake = false;
  {
    PlainMutexLock lock(&mutex_);
    bool room = waiting_.load() < settings_.max_waiting;
    if (!room) {
      const Place least = LeastImportant(arrival.priority);
      room = least.method != nullptr;
      if (room) refused = TakeOut(least, std::prev(least.line->end())).waiter;
    }
    if (room) {
      entry.number = ++came_;
      method.lines[static_cast<size_t>(arrival.priority)].push_back(std::move(entry));
      ++method.waiting;
      ++waiting_;
      wake = until < wakes_at_;
      if (wake) wakes_at_ = until;
    } else {
      refused = std::move(entry.waiter);
    }
  }
  if (refused != nullptr) {
    refused->OnRefused(
        Overloaded("as many calls as may wait for a place, none of them less important "
                   "(provider.limit.maxWaiting)"));
  }
  if (wake && wake_at_ != nullptr) wake_at_(until);
  Serve(now);
}

void CallGate::Leave(Method& method, std::optional<absl::Duration> latency, MonotonicTime now) {
  for (LimitedCalls* calls : method.concurrency) {
    if (latency.has_value()) calls->OnCall(*latency, now);
    calls->GiveBack();
  }
  if (waiting_.load() > 0) Serve(now);
}

void CallGate::Serve(MonotonicTime now) {
  // One thread serves at a time, and looks again for those that came meanwhile: a waiter that ends
  // in OnTurn() would otherwise serve the next one inside, and so on.
  if (serves_.fetch_add(1) > 0) return;
  int asked = 1;
  do {
    ServeOnce(now);
    asked = serves_.fetch_sub(asked) - asked;
  } while (asked > 0);
}

void CallGate::ServeOnce(MonotonicTime now) {
  while (true) {
    Entry entry;
    bool late = false;
    {
      PlainMutexLock lock(&mutex_);
      const Place place = NextTurn(now, late);
      if (place.method == nullptr) return;
      entry = TakeOut(place, place.line->begin());
    }
    if (late) {
      entry.waiter->OnRefused(WaitIsOver(entry));
    } else {
      entry.waiter->OnTurn();
    }
  }
}

CallGate::Place CallGate::NextTurn(MonotonicTime now, bool& late) {
  late = false;
  for (int priority = 0; priority < kPriorities; ++priority) {
    // Those that are first of their methods, the oldest first.
    absl::InlinedVector<Place, 8> first;
    for (const auto& [name, method] : methods_) {
      Line& line = method->lines[static_cast<size_t>(priority)];
      if (line.empty()) continue;
      if (line.front().until <= now) {
        late = true;
        return {method.get(), &line};
      }
      first.push_back({method.get(), &line});
    }
    std::sort(first.begin(), first.end(), [](const Place& a, const Place& b) {
      return a.line->front().number < b.line->front().number;
    });
    for (const Place& place : first) {
      if (TakePlaces(*place.method, static_cast<Priority>(priority)) == nullptr) return place;
    }
  }
  return {};
}

CallGate::Place CallGate::LeastImportant(Priority priority) {
  for (int p = kPriorities - 1; p > static_cast<int>(priority); --p) {
    Place latest;
    for (const auto& [name, method] : methods_) {
      Line& line = method->lines[static_cast<size_t>(p)];
      if (line.empty()) continue;
      if (latest.method == nullptr || line.back().number > latest.line->back().number) {
        latest = {method.get(), &line};
      }
    }
    if (latest.method != nullptr) return latest;
  }
  return {};
}

CallGate::Entry CallGate::TakeOut(Place place, Line::iterator it) {
  Entry entry = std::move(*it);
  place.line->erase(it);
  --place.method->waiting;
  --waiting_;
  return entry;
}

void CallGate::Expire(MonotonicTime now) {
  std::vector<Entry> late;
  MonotonicTime next = MonotonicTime::InfiniteFuture();
  {
    PlainMutexLock lock(&mutex_);
    for (const auto& [name, method] : methods_) {
      for (Line& line : method->lines) {
        for (auto it = line.begin(); it != line.end();) {
          if (it->until > now) {
            next = std::min(next, (it++)->until);
            continue;
          }
          const auto at = it - line.begin();
          late.push_back(TakeOut({method.get(), &line}, it));
          it = line.begin() + at;
        }
      }
    }
    wakes_at_ = next;
  }
  if (!next.is_infinite() && wake_at_ != nullptr) wake_at_(next);
  for (const Entry& entry : late) entry.waiter->OnRefused(WaitIsOver(entry));
}

std::vector<CallGate::LimitState> CallGate::States() const {
  PlainMutexLock lock(&mutex_);
  std::vector<LimitState> states;
  for (const auto& [name, calls] : concurrency_) {
    states.push_back({name, calls->limit(), calls->automatic(), calls->under_way()});
  }
  return states;
}

}  // namespace marpc
