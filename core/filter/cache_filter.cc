#include "marpc/filter/cache_filter.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/message_lite.h"
#include "marpc/base/error.h"
#include "marpc/filter/method_cache.h"
#include "marpc/filter/question_key.h"

namespace marpc {
namespace {

Filter::Verdict AnswerWith(const std::string& bytes, const FilterCall& call) {
  absl::Status status;
  if (!call.reply->ParseFromString(bytes)) {
    status = absl::InternalError("a cached answer could not be read");
  }
  return Filter::Verdict::Answer(std::move(status), CallReport::Answer::kCache);
}

// What a call that fetches keeps until it is answered.
struct Fetch {
  MethodCache* cache = nullptr;  // the filter's, which outlives its calls
  std::shared_ptr<PendingAnswer> pending;
  std::string key;
  bool fetching = false;

  // A call that is dropped without a word must not leave others waiting.
  ~Fetch() {
    if (fetching) Finish(nullptr, absl::CancelledError(), MonotonicTime());
  }
  void Finish(std::shared_ptr<const std::string> bytes, absl::Status outcome, MonotonicTime now) {
    fetching = false;
    cache->Finish(key, pending, std::move(bytes), std::move(outcome), now);
  }
};

}  // namespace

CacheFilter::CacheFilter() : methods_(std::make_shared<Methods>()) {}
CacheFilter::~CacheFilter() = default;

MethodCache* CacheFilter::ForMethod(const FilterCall& call) {
  const std::shared_ptr<const Methods> known = methods_.Load();
  if (const auto found = known->find(&call.method); found != known->end()) {
    return found->second;
  }
  absl::MutexLock lock(&mutex_);
  auto more = std::make_shared<Methods>(*methods_.Load());
  MethodCache*& cache = (*more)[&call.method];
  if (cache != nullptr) return cache;  // another thread was first
  cache = owned_.emplace_back(std::make_unique<MethodCache>(call.settings.cache)).get();
  MethodCache* const made = cache;
  methods_.Store(std::move(more));
  return made;
}

Filter::Verdict CacheFilter::Before(FilterCall& call) {
  auto fetch = std::static_pointer_cast<Fetch>(call.state);
  if (fetch == nullptr) {
    fetch = std::make_shared<Fetch>();
    fetch->cache = ForMethod(call);
    fetch->key = QuestionKey(call.request, call.context, call.settings.cache);
    call.state = fetch;
  } else if (!fetch->pending->settled()) {
    return Verdict::Wait(fetch->pending);  // woken too early
  } else if (absl::Status outcome = fetch->pending->outcome(); outcome.ok()) {
    return AnswerWith(*fetch->pending->bytes(), call);
  } else if (!absl::IsCancelled(outcome)) {
    const std::optional<ErrorInfo> info = GetErrorInfo(outcome);
    if (info.has_value() && info->origin() == ErrorInfo::BUSINESS) {
      return Verdict::Answer(std::move(outcome), CallReport::Answer::kRemote);
    }
    return Verdict::Fail(std::move(outcome));
  }
  MethodCache::Lookup found = fetch->cache->Find(fetch->key, call.now);
  if (found.bytes != nullptr) return AnswerWith(*found.bytes, call);
  fetch->pending = std::move(found.pending);
  fetch->fetching = found.fetch;
  return found.fetch ? Verdict::Continue() : Verdict::Wait(fetch->pending);
}

void CacheFilter::After(FilterCall& call, const absl::Status& status) {
  auto* fetch = static_cast<Fetch*>(call.state.get());
  if (fetch == nullptr || !fetch->fetching) return;
  if (!status.ok()) return fetch->Finish(nullptr, status, call.now);
  fetch->Finish(std::make_shared<const std::string>(call.reply->SerializeAsString()),
                absl::OkStatus(), call.now);
}

void CacheFilter::Abandoned(FilterCall& call, const absl::Status& status) {
  auto* fetch = static_cast<Fetch*>(call.state.get());
  if (fetch == nullptr || !fetch->fetching) return;
  // This caller's own deadline or change of mind is no answer for those who wait.
  const bool own = absl::IsCancelled(status) || call.now >= call.deadline || call.out_of_time;
  fetch->Finish(nullptr, own ? absl::CancelledError() : status, call.now);
}

void CacheFilter::Clear() {
  for (const auto& [method, cache] : *methods_.Load()) cache->Clear();
}

size_t CacheFilter::size() const {
  size_t total = 0;
  for (const auto& [method, cache] : *methods_.Load()) total += cache->size();
  return total;
}

size_t CacheFilter::bytes() const {
  size_t total = 0;
  for (const auto& [method, cache] : *methods_.Load()) total += cache->bytes();
  return total;
}

}  // namespace marpc
