#include "marpc/context/rpc_context.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace marpc {
namespace {

constexpr absl::string_view kPrefix = "marpc-ctx-";
constexpr absl::string_view kBinarySuffix = "-bin";
constexpr size_t kMaxKey = 100;
// gRPC takes no more than 8 KiB of metadata, what it adds itself included.
constexpr size_t kMaxTotal = 6 << 10;
// What gRPC counts an entry of metadata besides its key and its value.
constexpr size_t kEntryOverhead = 32;

thread_local const RpcContext* current = nullptr;

bool IsKeyCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

bool IsPrintable(absl::string_view value) {
  // Leading and trailing blanks would be trimmed on the way.
  if (!value.empty() && (value.front() == ' ' || value.back() == ' ')) return false;
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string EncodeKey(absl::string_view key) {
  std::string encoded(kPrefix);
  for (char c : key) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c))) {
      encoded += '_';
      encoded += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else {
      if (c == '_') encoded += '_';
      encoded += c;
    }
  }
  return encoded;
}

// What gRPC counts the entry.
size_t SizeOnTheWire(absl::string_view key, absl::string_view value) {
  const auto escaped = std::count_if(key.begin(), key.end(), [](char c) {
    return c == '_' || absl::ascii_isupper(static_cast<unsigned char>(c));
  });
  const size_t plain = kEntryOverhead + kPrefix.size() + key.size() + escaped;
  if (IsPrintable(value)) return plain + value.size();
  return plain + kBinarySuffix.size() + (value.size() + 2) / 3 * 4;  // base64
}

std::string DecodeKey(absl::string_view encoded) {
  std::string key;
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '_' || i + 1 == encoded.size()) {
      key += encoded[i];
      continue;
    }
    ++i;
    key += absl::ascii_toupper(static_cast<unsigned char>(encoded[i]));
  }
  return key;
}

auto Find(auto& entries, absl::string_view key) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const auto& entry, absl::string_view k) { return entry.first < k; });
}

}  // namespace

const RpcContext& RpcContext::Current() {
  static const RpcContext& none = *new RpcContext;
  return current == nullptr ? none : *current;
}

absl::Status RpcContext::Set(absl::string_view key, absl::string_view value) {
  if (key.empty() || key.size() > kMaxKey || !std::all_of(key.begin(), key.end(), IsKeyCharacter) ||
      absl::EndsWith(key, kBinarySuffix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("RpcContext key '", key, "': 1 to ", kMaxKey,
                     " letters, digits, '_', '.' or '-' are allowed, and no '-bin' at the end"));
  }
  size_t total = SizeOnTheWire(key, value);
  for (const auto& [k, v] : entries_) total += k == key ? 0 : SizeOnTheWire(k, v);
  if (total > kMaxTotal) {
    return absl::InvalidArgumentError(
        absl::StrCat("RpcContext key '", key, "': all entries together would be ", total,
                     " bytes of metadata; at most ", kMaxTotal, " travel"));
  }
  const auto it = Find(entries_, key);
  if (it != entries_.end() && it->first == key) {
    it->second = std::string(value);
  } else {
    entries_.emplace(it, key, value);
  }
  return absl::OkStatus();
}

std::optional<absl::string_view> RpcContext::Get(absl::string_view key) const {
  const auto it = Find(entries_, key);
  if (it == entries_.end() || it->first != key) return std::nullopt;
  return it->second;
}

void RpcContext::Remove(absl::string_view key) {
  const auto it = Find(entries_, key);
  if (it != entries_.end() && it->first == key) entries_.erase(it);
}

RpcContext::Scope::Scope() : Scope(Current()) {}

RpcContext::Scope::Scope(RpcContext context) : context_(std::move(context)), previous_(current) {
  current = &context_;
}

RpcContext::Scope::~Scope() { current = previous_; }

void EncodeContext(const RpcContext& context,
                   std::vector<std::pair<std::string, std::string>>& metadata) {
  for (const auto& [key, value] : context.entries()) {
    std::string encoded = EncodeKey(key);
    if (!IsPrintable(value)) absl::StrAppend(&encoded, kBinarySuffix);
    metadata.emplace_back(std::move(encoded), value);
  }
  if (context.inbound() != nullptr) {
    metadata.emplace_back(kDepthMetadata, absl::StrCat(context.inbound()->depth));
  }
}

bool DecodeContextEntry(absl::string_view metadata_key, absl::string_view metadata_value,
                        RpcContext& context) {
  if (!absl::ConsumePrefix(&metadata_key, kPrefix)) return false;
  absl::ConsumeSuffix(&metadata_key, kBinarySuffix);
  // A peer may send anything: what Set() refuses is left out, not passed on.
  context.Set(DecodeKey(metadata_key), metadata_value).IgnoreError();
  return true;
}

}  // namespace marpc
