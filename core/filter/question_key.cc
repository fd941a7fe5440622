#include "marpc/filter/question_key.h"

#include <algorithm>
#include <array>

#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message_lite.h"

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

}  // namespace

// Every part with its length in front, so that no two questions share a key.
std::string QuestionKey(const google::protobuf::MessageLite& request, const RpcContext& context,
                        const CacheSettings& settings) {
  std::string key;
  {
    // Only when they end is the key whole.
    google::protobuf::io::StringOutputStream stream(&key);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    const auto write = [&out](absl::string_view text) {
      out.WriteVarint64(text.size());
      out.WriteRaw(text.data(), static_cast<int>(text.size()));
    };
    for (const auto& [name, value] : context.entries()) {
      if (!Varies(settings, name)) continue;
      write(name);
      write(value);
    }
    out.WriteVarint64(0);  // no entry has an empty name: what follows is the request
    request.SerializePartialToCodedStream(&out);
  }
  return key;
}

}  // namespace marpc
