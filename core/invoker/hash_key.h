// What of a call the balancers ring-hash and maglev go by.
#ifndef MARPC_INVOKER_HASH_KEY_H_
#define MARPC_INVOKER_HASH_KEY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

#include "marpc/base/method.h"
#include "marpc/config/load_balance_settings.h"
#include "marpc/context/rpc_context.h"
#include "marpc/transport/transport.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

// Of one method's calls. Immutable; shared by all threads; allocates nothing.
class HashKey {
 public:
  // Null where the settings name neither a key nor a field that the method's requests have.
  static std::shared_ptr<const HashKey> For(const Method& method, const HashSettings& settings);

  // The hash of the first of these that has a value: the request's field, the context's entry, the
  // metadata of that name. None where none has. An empty text is no value; a number or truth value
  // is one, unless it can be left out (`optional`) and was. `metadata` may be null.
  std::optional<uint64_t> Of(const google::protobuf::MessageLite& request,
                             const RpcContext& context, const Metadata* metadata) const;

  bool has_field() const { return !path_.empty(); }

 private:
  std::optional<uint64_t> OfField(const google::protobuf::MessageLite& request) const;

  std::string key_;
  std::string metadata_key_;                                    // in lower case
  std::vector<const google::protobuf::FieldDescriptor*> path_;  // empty: none
  const google::protobuf::Descriptor* type_ = nullptr;
  // The class of the requests, once one was seen: a look at it is quicker than a dynamic_cast.
  mutable std::atomic<const std::type_info*> class_{nullptr};
};

}  // namespace marpc

#endif  // MARPC_INVOKER_HASH_KEY_H_
