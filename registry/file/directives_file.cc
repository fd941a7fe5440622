#include "marpc/registry/file/directives_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "marpc/registry/file/entry_file.h"
#include "marpc/registry/text_file.h"

namespace marpc {

absl::StatusOr<Directives> ReadDirectivesFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxDirectivesBytes);
  if (absl::IsNotFound(text.status())) return Directives();
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(text.status().message());
  }
  if (!text.ok()) return text.status();
  return ParseDirectives(*text);
}

absl::Status ChangeDirectivesFile(const std::string& path, const std::string& key,
                                  const std::string& value) {
  const std::string lock_path = absl::StrCat(path.substr(0, path.rfind('/')), "/.directives.lock");
  // Reading is enough to lock, so that other users may do it, too.
  const UniqueFd lock(open(lock_path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!lock) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open '", lock_path, "'"));
  // Whatever this operator's umask: consumers and other operators run as other users. Fails where
  // the file is not this user's.
  (void)fchmod(lock.get(), 0644);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::AbortedError(absl::StrCat("another process holds '", lock_path, "'"));
  }
  absl::StatusOr<Directives> directives = ReadDirectivesFile(path);
  if (absl::IsInvalidArgument(directives.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("what stands in '", path, "' cannot be read: ", directives.status().message(),
                     "; mend it, or delete it"));
  }
  if (!directives.ok()) return directives.status();
  if (!ApplyDirective(*directives, key, value)) return absl::OkStatus();
  if (directives->empty()) {
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove '", path, "'"));
  }
  const absl::StatusOr<std::string> json = DirectivesToJson(*directives);
  if (!json.ok()) return json.status();
  if (absl::Status s = ReplaceTextFile(path, *json); !s.ok()) return s;
  (void)chmod(path.c_str(), 0644);
  return absl::OkStatus();
}

}  // namespace marpc
