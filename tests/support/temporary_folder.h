// A folder of a test's own, removed with all that is in it.
#ifndef MARPC_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define MARPC_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace marpc {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "marpc-test-XXXXXX").string();
    const char* made = mkdtemp(pattern.data());
    path_ = made == nullptr ? "" : made;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace marpc

#endif  // MARPC_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
