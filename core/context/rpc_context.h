// Key-values that travel with a call, and on with the calls that its handler makes: traceId,
// userId, grayId ...
//
//   marpc::RpcContext::Scope scope;               // until the end of the block, on this thread
//   scope.Set("userId", "42");
//   client.GetUser(request);                      // the handler sees userId = 42
//
// or for one call only: `marpc::CallOptions options; options.context.Set("userId", "42");`.
//
// In a handler the caller's entries are in force until the handler returns:
// RpcContext::Current().Get("userId"). Work that a handler gives to another thread takes a copy
// along and installs it there with a Scope.
//
// Entries travel as gRPC metadata `marpc-ctx-<key>`: a capital letter becomes `_` and the small
// letter (traceId: marpc-ctx-trace_id), `_` is doubled, and a value that is not printable ASCII
// goes as `-bin`.
#ifndef MARPC_CONTEXT_RPC_CONTEXT_H_
#define MARPC_CONTEXT_RPC_CONTEXT_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/base/clock.h"

namespace marpc {

// The request that is being handled, as far as the calls made in its service must know it. Shared
// by them, on whatever threads they are made.
struct InboundCall {
  // Attempts of the same call before this one: it is itself a retry, or a hedge, when > 0.
  int previous_attempts = 0;
  // Services between the edge and this one, itself included.
  int depth = 1;
  // Retries made in its service so far.
  std::atomic<int> retries{0};
};

// A value type; copies are independent, but for what they share of the inbound call. Not
// thread-safe.
class RpcContext {
 public:
  using Entries = std::vector<std::pair<std::string, std::string>>;  // sorted by key

  // The context in force on this thread; an empty one where nothing was installed.
  static const RpcContext& Current();

  // Replaces an entry. InvalidArgument for a key that is empty, longer than 100 characters or has
  // others than letters, digits, `_`, `.` and `-`, and for more than 6 KiB in all as they travel:
  // each entry counts 42 bytes besides key and value, and a value that goes as `-bin` a third more.
  absl::Status Set(absl::string_view key, absl::string_view value);
  std::optional<absl::string_view> Get(absl::string_view key) const;
  void Remove(absl::string_view key);
  void Clear() { entries_.clear(); }
  bool empty() const { return entries_.empty(); }
  const Entries& entries() const { return entries_; }

  // The deadline of the call that is being handled; calls made by its handler end by it too.
  // Infinite: none.
  MonotonicTime deadline() const { return deadline_; }
  void set_deadline(MonotonicTime deadline) { deadline_ = deadline; }

  // Null: no request is being handled.
  const std::shared_ptr<InboundCall>& inbound() const { return inbound_; }
  void set_inbound(std::shared_ptr<InboundCall> inbound) { inbound_ = std::move(inbound); }

  // Puts a context in force on this thread and restores the one before at its end. Scopes nest; one
  // must end on the thread that began it.
  class Scope;

 private:
  Entries entries_;
  MonotonicTime deadline_ = MonotonicTime::InfiniteFuture();
  std::shared_ptr<InboundCall> inbound_;
};

class RpcContext::Scope {
 public:
  // Starts from what is in force now.
  Scope();
  explicit Scope(RpcContext context);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  absl::Status Set(absl::string_view key, absl::string_view value) {
    return context_.Set(key, value);
  }
  RpcContext& context() { return context_; }

 private:
  RpcContext context_;
  const RpcContext* previous_;
};

// Tells the next service how far from the edge it is; sent by calls that are made in the service of
// another one.
inline constexpr absl::string_view kDepthMetadata = "marpc-depth";
// Attempts of the same call before this one (gRFC A6); sent with every attempt but the first.
inline constexpr absl::string_view kPreviousAttemptsMetadata = "grpc-previous-rpc-attempts";

// The metadata form of the entries and of the depth, and back. Encode appends to `metadata`; Decode
// answers false for a metadata key that is not of a context entry.
void EncodeContext(const RpcContext& context,
                   std::vector<std::pair<std::string, std::string>>& metadata);
bool DecodeContextEntry(absl::string_view metadata_key, absl::string_view metadata_value,
                        RpcContext& context);

}  // namespace marpc

#endif  // MARPC_CONTEXT_RPC_CONTEXT_H_
