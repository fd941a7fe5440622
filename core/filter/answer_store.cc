#include "marpc/filter/answer_store.h"

#include <iterator>
#include <utility>

namespace marpc {

std::shared_ptr<const std::string> AnswerStore::Find(const std::string& key, MonotonicTime now) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const Entries::iterator entry = found->second;
  if (now - entry->stored_at >= max_age_) {
    Drop(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->bytes;
}

void AnswerStore::Keep(const std::string& key, std::shared_ptr<const std::string> bytes,
                       MonotonicTime now) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) Drop(found->second);
  Entry entry{key, std::move(bytes), now};
  if (entry.size() > static_cast<size_t>(max_bytes_) || max_entries_ < 1) return;
  bytes_ += entry.size();
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
  while (bytes_ > static_cast<size_t>(max_bytes_) ||
         entries_.size() > static_cast<size_t>(max_entries_)) {
    Drop(std::prev(entries_.end()));
  }
}

void AnswerStore::Clear() {
  by_key_.clear();
  entries_.clear();
  bytes_ = 0;
}

void AnswerStore::Drop(Entries::iterator entry) {
  bytes_ -= entry->size();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace marpc
