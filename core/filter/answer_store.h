// Answers by question, bounded in number and bytes; the least recently used give way.
#ifndef MARPC_FILTER_ANSWER_STORE_H_
#define MARPC_FILTER_ANSWER_STORE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"

namespace marpc {

// Not thread-safe.
class AnswerStore {
 public:
  // An answer is given until it is `max_age` old.
  AnswerStore(absl::Duration max_age, int64_t max_entries, int64_t max_bytes)
      : max_age_(max_age), max_entries_(max_entries), max_bytes_(max_bytes) {}

  // Null when there is none, or none that is young enough.
  std::shared_ptr<const std::string> Find(const std::string& key, MonotonicTime now);
  // In place of the one kept before. One that is larger than the whole store is not kept.
  void Keep(const std::string& key, std::shared_ptr<const std::string> bytes, MonotonicTime now);
  void Clear();

  size_t size() const { return entries_.size(); }
  // With what the containers take, roughly.
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const std::string> bytes;
    MonotonicTime stored_at;
    size_t size() const { return key.size() + bytes->size() + kOverhead; }
    static constexpr size_t kOverhead = 128;
  };
  using Entries = std::list<Entry>;

  void Drop(Entries::iterator entry);

  const absl::Duration max_age_;
  const int64_t max_entries_;
  const int64_t max_bytes_;
  Entries entries_;  // most recently used first
  absl::flat_hash_map<absl::string_view, Entries::iterator> by_key_;
  size_t bytes_ = 0;
};

}  // namespace marpc

#endif  // MARPC_FILTER_ANSWER_STORE_H_
