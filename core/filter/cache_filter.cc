#include "marpc/filter/cache_filter.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message_lite.h"
#include "marpc/base/error.h"
#include "marpc/filter/method_cache.h"

namespace marpc {
namespace {

// Entries that differ from call to call and never change an answer.
constexpr std::array<absl::string_view, 9> kTraceKeys = {
    "traceId",        "trace_id",    "spanId",     "span_id",  "parentSpanId",
    "parent_span_id", "traceparent", "tracestate", "requestId"};

bool Varies(const CacheSettings& settings, absl::string_view key) {
  if (settings.vary_on.has_value()) {
    return std::find(settings.vary_on->begin(), settings.vary_on->end(), key) !=
           settings.vary_on->end();
  }
  return std::find(kTraceKeys.begin(), kTraceKeys.end(), key) == kTraceKeys.end();
}

// Every part with its length in front, so that no two questions share a key.
std::string KeyOf(const FilterCall& call) {
  std::string key;
  google::protobuf::io::StringOutputStream stream(&key);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  const auto write = [&out](absl::string_view text) {
    out.WriteVarint64(text.size());
    out.WriteRaw(text.data(), static_cast<int>(text.size()));
  };
  for (const auto& [name, value] : call.context.entries()) {
    if (!Varies(call.settings.cache, name)) continue;
    write(name);
    write(value);
  }
  out.WriteVarint64(0);  // no entry has an empty name: what follows is the request
  call.request.SerializePartialToCodedStream(&out);
  return key;
}

Filter::Verdict AnswerWith(const std::string& bytes, const FilterCall& call) {
  absl::Status status;
  if (!call.reply->ParseFromString(bytes)) {
    status = absl::InternalError("a cached answer could not be read");
  }
  return Filter::Verdict::Answer(std::move(status), CallReport::Answer::kCache);
}

// What a call that fetches keeps until it is answered.
struct Fetch {
  std::shared_ptr<MethodCache> cache;
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

CacheFilter::CacheFilter() = default;
CacheFilter::~CacheFilter() = default;

std::shared_ptr<MethodCache> CacheFilter::ForMethod(const FilterCall& call) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<MethodCache>& cache = methods_[&call.method];
  if (cache == nullptr) cache = std::make_shared<MethodCache>(call.settings.cache);
  return cache;
}

Filter::Verdict CacheFilter::Before(FilterCall& call) {
  auto fetch = std::static_pointer_cast<Fetch>(call.state);
  if (fetch == nullptr) {
    fetch = std::make_shared<Fetch>();
    fetch->cache = ForMethod(call);
    fetch->key = KeyOf(call);
    call.state = fetch;
  } else if (!fetch->pending->settled()) {
    return Verdict::Wait(fetch->pending);  // woken too early
  } else if (absl::Status outcome = fetch->pending->outcome(); outcome.ok()) {
    return AnswerWith(*fetch->pending->bytes(), call);
  } else if (!absl::IsCancelled(outcome)) {
    return Verdict::Answer(std::move(outcome), CallReport::Answer::kRemote);
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
  const bool own = absl::IsCancelled(status) || call.now >= call.deadline;
  fetch->Finish(nullptr, own ? absl::CancelledError() : status, call.now);
}

void CacheFilter::Clear() {
  absl::MutexLock lock(&mutex_);
  for (auto& [method, cache] : methods_) cache->Clear();
}

size_t CacheFilter::size() const {
  absl::MutexLock lock(&mutex_);
  size_t total = 0;
  for (const auto& [method, cache] : methods_) total += cache->size();
  return total;
}

size_t CacheFilter::bytes() const {
  absl::MutexLock lock(&mutex_);
  size_t total = 0;
  for (const auto& [method, cache] : methods_) total += cache->bytes();
  return total;
}

}  // namespace marpc
