#include "marpc/registry/snapshot_store.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "marpc/instance.pb.h"
#include "marpc/observe/log.h"
#include "marpc/registry/record.h"
#include "marpc/registry/text_file.h"

namespace marpc {
namespace {

constexpr size_t kMaxFileBytes = 256 << 20;

absl::StatusOr<StoredList> Parse(absl::string_view service, const std::string& text) {
  ServiceListRecord list;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &list, options);
  if (!parsed.ok()) return absl::InvalidArgumentError(parsed.ToString());
  if (list.service() != service) {
    return absl::InvalidArgumentError(absl::StrCat("it is of service '", list.service(), "'"));
  }
  StoredList stored;
  for (const InstanceRecord& record : list.instances()) {
    absl::StatusOr<Instance> instance = FromRecord(record);
    if (!instance.ok()) return instance.status();
    stored.instances.push_back(*std::move(instance));
  }
  for (const std::string& mark : list.gray_marks()) {
    absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(mark);
    if (endpoint.ok()) stored.gray_marks.insert(*std::move(endpoint));
  }
  stored.directives.insert(list.directives().begin(), list.directives().end());
  stored.age =
      std::max(absl::ZeroDuration(), absl::Now() - absl::FromUnixMillis(list.saved_at_unix_ms()));
  return stored;
}

}  // namespace

SnapshotStore::SnapshotStore(std::string folder, std::string environment)
    : folder_(std::move(folder)), environment_(std::move(environment)) {}

std::string SnapshotStore::PathOf(absl::string_view service) const {
  return absl::StrCat(folder_, "/", EncodeName(environment_), "-", EncodeName(service), ".json");
}

absl::Status SnapshotStore::Write(const ServiceSnapshot& snapshot) const {
  if (!enabled()) return absl::OkStatus();
  ServiceListRecord list;
  list.set_service(snapshot.service);
  for (const Instance& instance : snapshot.instances) {
    *list.add_instances() = ToRecord(snapshot.service, instance, 0);
  }
  for (const Endpoint& mark : snapshot.gray_marks) list.add_gray_marks(mark.ToString());
  list.mutable_directives()->insert(snapshot.directives.begin(), snapshot.directives.end());
  list.set_saved_at_unix_ms(absl::ToUnixMillis(absl::Now()));
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  const auto written = google::protobuf::util::MessageToJsonString(list, &json, options);
  if (!written.ok()) return absl::InternalError(written.ToString());
  if (absl::Status made = MakeFolders(folder_); !made.ok()) return made;
  return ReplaceTextFile(PathOf(snapshot.service), json);
}

std::optional<StoredList> SnapshotStore::Read(absl::string_view service) const {
  if (!enabled()) return std::nullopt;
  const std::string path = PathOf(service);
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxFileBytes);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  absl::StatusOr<StoredList> stored =
      text.ok() ? Parse(service, *text) : absl::StatusOr<StoredList>(text.status());
  if (!stored.ok()) {
    Logger()->warn("event=registry_snapshot_unreadable path={} why=\"{}\"", path,
                   std::string(stored.status().message()));
    return std::nullopt;
  }
  return *std::move(stored);
}

}  // namespace marpc
