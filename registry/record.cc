#include "marpc/registry/record.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace marpc {
namespace {

// A component of a path is at most 255 bytes long on every file system that matters.
constexpr size_t kMaxNameBytes = 240;
constexpr char kConsumersList[] = "--consumers";
// Of an entry whose weight cannot be read. Consumers take the default, and say so.
constexpr int kNoWeight = -1;

google::protobuf::util::Status ParseRecord(absl::string_view json, InstanceRecord& record) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  record.Clear();
  return google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &record, options);
}

// The entry without its weight, where that is what makes it unreadable: text, negative, too large.
bool ParseWithoutWeight(absl::string_view json, InstanceRecord& record) {
  google::protobuf::Struct entry;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &entry);
  if (!parsed.ok() || entry.mutable_fields()->erase("weight") == 0) return false;
  std::string rest;
  return google::protobuf::util::MessageToJsonString(entry, &rest).ok() &&
         ParseRecord(rest, record).ok();
}

}  // namespace

InstanceRecord ToRecord(absl::string_view service, const Instance& instance,
                        int64_t registered_at_unix_ms) {
  InstanceRecord record;
  record.set_service(std::string(service));
  record.set_endpoint(instance.endpoint.ToString());
  record.set_app(instance.app);
  record.set_zone(instance.zone);
  record.set_version(instance.version);
  record.set_group(instance.group);
  record.mutable_tags()->Assign(instance.tags.begin(), instance.tags.end());
  record.set_gray(instance.gray);
  record.set_weight(static_cast<uint32_t>(instance.weight));
  record.mutable_metadata()->insert(instance.metadata.begin(), instance.metadata.end());
  record.set_owner(instance.owner);
  record.set_registered_at_unix_ms(registered_at_unix_ms);
  return record;
}

absl::StatusOr<Instance> FromRecord(const InstanceRecord& record) {
  absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(record.endpoint());
  if (!endpoint.ok()) return endpoint.status();
  Instance instance;
  instance.endpoint = *std::move(endpoint);
  instance.app = record.app();
  instance.zone = record.zone();
  instance.version = record.version();
  instance.group = record.group();
  instance.tags.assign(record.tags().begin(), record.tags().end());
  instance.gray = record.gray();
  if (record.weight() > Instance::kMaxWeight) {
    instance.weight = kNoWeight;
  } else if (record.has_weight()) {
    instance.weight = static_cast<int>(record.weight());
  }
  instance.metadata.insert(record.metadata().begin(), record.metadata().end());
  instance.owner = record.owner();
  return instance;
}

absl::StatusOr<std::string> RecordToJson(const InstanceRecord& record) {
  std::string json;
  const auto written = google::protobuf::util::MessageToJsonString(record, &json);
  // Read back, for what the writer lets through and the reader would refuse.
  InstanceRecord copy;
  if (!written.ok() || !google::protobuf::util::JsonStringToMessage(json, &copy).ok() ||
      copy.SerializeAsString().size() != record.SerializeAsString().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the entry of ", record.endpoint(), " holds text that is not UTF-8"));
  }
  return json;
}

absl::StatusOr<Instance> ParseEntry(absl::string_view service, absl::string_view name,
                                    absl::string_view json) {
  if (json.size() > kMaxRecordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is ", json.size(), " bytes long, the limit is ", kMaxRecordBytes));
  }
  absl::StatusOr<Endpoint> named = DecodeEndpointName(name);
  if (!named.ok()) return named.status();
  InstanceRecord record;
  const auto parsed = ParseRecord(json, record);
  if (!parsed.ok() && !ParseWithoutWeight(json, record)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is not JSON of marpc.InstanceRecord: ",
                     absl::Utf8SafeCEscape(parsed.ToString().substr(0, 200))));
  }
  absl::StatusOr<Instance> instance = FromRecord(record);
  if (!instance.ok()) return instance.status();
  if (!parsed.ok()) instance->weight = kNoWeight;
  if (instance->endpoint != *named) {
    return absl::InvalidArgumentError(
        absl::StrCat("it speaks of endpoint '", record.endpoint(), "', not of that in its name"));
  }
  if (!record.service().empty() && record.service() != service) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is of service '", record.service(), "', not of '", service, "'"));
  }
  return instance;
}

std::string EncodeName(absl::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = text[i];
    if (c == '%' || c == '/' || c <= ' ' || c >= 0x7f || (c == '.' && i == 0)) {
      absl::StrAppendFormat(&name, "%%%02X", c);
    } else {
      name.push_back(static_cast<char>(c));
    }
  }
  return name;
}

absl::StatusOr<std::string> DecodeName(absl::string_view name) {
  const auto digit = [](char c) {
    return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_toupper(c) - 'A' + 10;
  };
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      text.push_back(name[i]);
      continue;
    }
    if (i + 2 >= name.size() || !absl::ascii_isxdigit(name[i + 1]) ||
        !absl::ascii_isxdigit(name[i + 2])) {
      return absl::InvalidArgumentError(
          absl::StrCat("two hexadecimal digits must follow '%' in '", name, "'"));
    }
    text.push_back(static_cast<char>(digit(name[i + 1]) * 16 + digit(name[i + 2])));
    i += 2;
  }
  return text;
}

absl::StatusOr<Endpoint> DecodeEndpointName(absl::string_view name) {
  absl::StatusOr<std::string> text = DecodeName(name);
  if (!text.ok()) return text.status();
  return Endpoint::Parse(*text);
}

absl::Status CheckServiceName(absl::string_view service) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  bool good = !service.empty() && service.size() <= kMaxNameBytes && service[0] != '.';
  for (char c : service) good = good && allowed(c);
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", service,
      "' names no service: expected letters, digits, '.', '_' and '-', not '.' first, and at most ",
      kMaxNameBytes, " characters"));
}

absl::Status CheckInstance(absl::string_view service, const Instance& instance) {
  const std::string& endpoint = instance.endpoint.ToString();
  if (absl::StatusOr<Endpoint> parsed = Endpoint::Parse(endpoint); !parsed.ok()) {
    return parsed.status();
  }
  if (EncodeName(endpoint).size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("endpoint '", endpoint, "' is too long to be the name of an entry"));
  }
  if (EncodeName(instance.owner).size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the owner given for ", endpoint, " is too long to be the name of an entry"));
  }
  if (instance.weight < 0 || instance.weight > Instance::kMaxWeight) {
    return absl::InvalidArgumentError(absl::StrCat("weight ", instance.weight, " of ", endpoint,
                                                   " is outside 0..", Instance::kMaxWeight));
  }
  absl::StatusOr<std::string> json = RecordToJson(ToRecord(service, instance, 0));
  if (!json.ok()) return json.status();
  if (json->size() > kMaxRecordBytes / 2) {
    return absl::InvalidArgumentError(absl::StrCat("the entry of ", endpoint, " is ", json->size(),
                                                   " bytes long, the limit is ",
                                                   kMaxRecordBytes / 2));
  }
  return absl::OkStatus();
}

std::string ConsumersListOf(absl::string_view service) {
  return absl::StrCat(service, kConsumersList);
}

bool IsConsumersList(absl::string_view name) { return absl::EndsWith(name, kConsumersList); }

std::string NewOwner() {
  char host[65] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  std::random_device device;
  return absl::StrFormat("%s-%d-%x-%08x", host, getpid(), absl::ToUnixMillis(absl::Now()),
                         device());
}

}  // namespace marpc
