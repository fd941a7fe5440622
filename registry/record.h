// What is stored of an instance, and under which name.
#ifndef MARPC_REGISTRY_RECORD_H_
#define MARPC_REGISTRY_RECORD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/base/endpoint.h"
#include "marpc/base/instance.h"
#include "marpc/instance.pb.h"

namespace marpc {

// The longest record. ZooKeeper's own limit is 1 MB for a whole packet.
inline constexpr size_t kMaxRecordBytes = 256 << 10;

InstanceRecord ToRecord(absl::string_view service, const Instance& instance,
                        int64_t registered_at_unix_ms);
absl::StatusOr<Instance> FromRecord(const InstanceRecord& record);

// One line of protobuf JSON. InvalidArgument for what JSON cannot hold, such as text that is not
// UTF-8.
absl::StatusOr<std::string> RecordToJson(const InstanceRecord& record);

// Reads the entry that stands under `name` among those of `service`. InvalidArgument says what is
// wrong with it, and fields that this version does not know are ignored: a newer provider may have
// written it.
absl::StatusOr<Instance> ParseEntry(absl::string_view service, absl::string_view name,
                                    absl::string_view json);

// An endpoint or an owner as one path component, for znodes and files alike: `%`, `/`, control
// characters, a leading dot and bytes that are not ASCII become %XX.
std::string EncodeName(absl::string_view text);
absl::StatusOr<std::string> DecodeName(absl::string_view name);
absl::StatusOr<Endpoint> DecodeEndpointName(absl::string_view name);

// InvalidArgument for a service name, an environment or an instance that no entry can have.
absl::Status CheckServiceName(absl::string_view service);
absl::Status CheckInstance(absl::string_view service, const Instance& instance);

// Where the consumers of a service enter themselves, for each other:
// "demo.HelloService--consumers", which is no name that a .proto can give.
std::string ConsumersListOf(absl::string_view service);
bool IsConsumersList(absl::string_view name);

// A name for one registration, unlike every other: host, process, time and chance.
std::string NewOwner();

}  // namespace marpc

#endif  // MARPC_REGISTRY_RECORD_H_
