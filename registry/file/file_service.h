// One service's folders, as one process sees them.
#ifndef MARPC_REGISTRY_FILE_FILE_SERVICE_H_
#define MARPC_REGISTRY_FILE_FILE_SERVICE_H_

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "marpc/registry/backend.h"
#include "marpc/registry/file/entry_file.h"
#include "marpc/registry/file/file_layout.h"
#include "marpc/registry/file/inotify.h"

namespace marpc {

// Owners that have left are remembered so long.
inline constexpr absl::Duration kLeftMemory = absl::Hours(1);

// Says that the owner has left, before its entry is removed.
absl::Status WriteLeft(const FileLayout& layout, const std::string& service,
                       const std::string& owner);

// Not thread-safe.
class FileService {
 public:
  FileService(const FileLayout& layout, std::string name, Backend::Events& events);

  // Makes the folders, watches them and looks at all that is in them.
  absl::Status Arm(Inotify& inotify);
  void Disarm(Inotify& inotify);
  // False when the folders are not those that are watched, as when one above them was moved: which
  // no event tells.
  bool Armed() const;
  bool Watches(int watch) const {
    return watch == service_watch_ || watch == providers_watch_ || watch == gray_watch_;
  }

  // Looks at one entry again, and removes it where its owner is dead. Answers whether that may have
  // changed a reading.
  bool CheckEntry(const std::string& file_name);
  // Looks again at those that have vanished and were not believed to have, and at what could not
  // be read. Answers as CheckEntry().
  bool CheckDoubtful();
  // Where the marks cannot be read, those that were read before stay.
  absl::Status CheckGray();
  // As CheckGray().
  absl::Status CheckDirectives();

  // What is known now.
  Reading MakeReading();

 private:
  struct Seen {
    FileVersion version;
    std::optional<Instance> instance;  // none: it cannot be read
    MonotonicTime missing_since = MonotonicTime::InfiniteFuture();
    bool unreadable = false;  // at the latest look, for a reason that says nothing of the entry
  };

  absl::Status CheckAllEntries();
  bool OnMissing(const std::string& file_name);
  void OnUnreadable(const std::string& file_name, const std::string& path, const absl::Status& why);
  void RemoveDead(const std::string& path, const std::string& owner);
  void ForgetOldLeft();

  const FileLayout layout_;
  const std::string name_;
  Backend::Events& events_;

  int service_watch_ = -1;
  int providers_watch_ = -1;
  int gray_watch_ = -1;
  ino_t providers_inode_ = 0;
  ino_t gray_inode_ = 0;
  std::map<std::string, Seen> seen_;  // by file name
  std::set<Endpoint> gray_marks_;
  bool gray_unreadable_ = false;
  Directives directives_;
  bool directives_unreadable_ = false;
  std::string directives_text_;      // what was last read, or why it is too long
  std::set<std::string> bad_marks_;  // by file name: warned of
  std::set<std::string> dead_;       // owners, also where left/ cannot be written
  std::set<std::string> left_;       // owners, as left/ was last read
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_FILE_FILE_SERVICE_H_
