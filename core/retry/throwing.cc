#include "marpc/retry/throwing.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/random.h"

namespace marpc {
namespace {

constexpr absl::string_view kTypeUrl = "type.googleapis.com/marpc.ThrownException";

// Exceptions by the key that a status carries as its payload. The key is a name only: one that was
// read from elsewhere finds nothing.
class Exceptions {
 public:
  // Forgets the exception when the last copy of the returned payload is gone.
  absl::Cord Keep(std::exception_ptr thrown) {
    auto key = std::make_unique<std::string>();
    {
      absl::MutexLock lock(&mutex_);
      *key = absl::StrCat(absl::Hex(process_), "-", ++last_);
      thrown_.emplace(*key, std::move(thrown));
    }
    std::string* held = key.release();
    return absl::MakeCordFromExternal(*held, [this, held] {
      Forget(*held);
      delete held;
    });
  }

  std::exception_ptr Find(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    const auto it = thrown_.find(key);
    return it == thrown_.end() ? nullptr : it->second;
  }

 private:
  void Forget(const std::string& key) {
    std::exception_ptr forgotten;  // destroyed without the lock
    absl::MutexLock lock(&mutex_);
    const auto it = thrown_.find(key);
    forgotten = std::move(it->second);
    thrown_.erase(it);
  }

  absl::Mutex mutex_;
  const uint64_t process_ = RandomSource::OfThisThread().Below(UINT64_MAX);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, std::exception_ptr> thrown_ ABSL_GUARDED_BY(mutex_);
};

// Never destroyed: a status may outlive everything static.
Exceptions& exceptions() {
  static Exceptions& instance = *new Exceptions;
  return instance;
}

std::string CurrentTypeName() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "exception";
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed), std::free);
  return name == nullptr ? type->name() : name.get();
}

std::string CurrentText() {
  try {
    throw;
  } catch (const std::exception& error) {
    return absl::StrCat(CurrentTypeName(), ": ", error.what());
  } catch (...) {
    return CurrentTypeName();
  }
}

}  // namespace

absl::Status StatusOfCurrentException() {
  absl::Status status = absl::UnknownError(CurrentText());
  status.SetPayload(kTypeUrl, exceptions().Keep(std::current_exception()));
  return status;
}

std::exception_ptr ExceptionOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kTypeUrl);
  return payload.has_value() ? exceptions().Find(std::string(*payload)) : nullptr;
}

void RethrowExceptionOf(const absl::Status& status) {
  if (std::exception_ptr thrown = ExceptionOf(status)) std::rethrow_exception(thrown);
}

}  // namespace marpc
