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

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/base/clock.h"

namespace marpc {

// A value type; copies are independent. Not thread-safe.
class RpcContext {
 public:
  using Entries = std::vector<std::pair<std::string, std::string>>;  // sorted by key

  // The context in force on this thread; an empty one where nothing was installed.
  static const RpcContext& Current();

  // Replaces an entry. InvalidArgument for a key that is empty, longer than 100 characters or has
  // others than letters, digits, `_`, `.` and `-`, and for more than 8 KiB in all.
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

  // Puts a context in force on this thread and restores the one before at its end. Scopes nest; one
  // must end on the thread that began it.
  class Scope;

 private:
  Entries entries_;
  MonotonicTime deadline_ = MonotonicTime::InfiniteFuture();
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

// The metadata form of an entry, and back. Encode appends to `metadata`; Decode answers false for a
// metadata key that is not of a context entry.
void EncodeContext(const RpcContext& context,
                   std::vector<std::pair<std::string, std::string>>& metadata);
bool DecodeContextEntry(absl::string_view metadata_key, absl::string_view metadata_value,
                        RpcContext& context);

}  // namespace marpc

#endif  // MARPC_CONTEXT_RPC_CONTEXT_H_
