// Folders, and small files that are read whole and replaced whole.
#ifndef MARPC_REGISTRY_TEXT_FILE_H_
#define MARPC_REGISTRY_TEXT_FILE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace marpc {

// Makes the folder and those above it. OK where it exists. Of those above, the first that may be
// made is one below `base`: NotFound where `base` is not there. By default all may be made.
absl::Status MakeFolders(const std::string& path, absl::string_view base = "");

// What is in a folder, without names that begin with a dot. NotFound where there is no folder.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);

// NotFound where there is none; ResourceExhausted for more than `limit` bytes.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit);
absl::StatusOr<std::string> ReadAll(int fd, const std::string& path, size_t limit);
absl::Status WriteAll(int fd, const std::string& path, absl::string_view text);

// Readers see the old content or the new, never a part.
absl::Status ReplaceTextFile(const std::string& path, absl::string_view text);

// The path of a file beside `path` that no other process or thread makes at the same time. Begins
// with a dot.
std::string TemporaryBeside(const std::string& path);

}  // namespace marpc

#endif  // MARPC_REGISTRY_TEXT_FILE_H_
