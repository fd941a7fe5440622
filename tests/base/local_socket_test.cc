#include "marpc/base/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

// A socket file; nobody need listen on it.
void MakeSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
}

class LocalSocketTest : public ::testing::Test {
 protected:
  LocalSocketTest() { MakeSocket(path_); }
  std::string Describe() const {
    const absl::StatusOr<std::string> description = DescribeLocalSocket(path_);
    EXPECT_TRUE(description.ok()) << description.status();
    return description.value_or("");
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "a socket";
};

TEST_F(LocalSocketTest, IsFoundByWhatItsOwnerSaysOfIt) {
  const absl::StatusOr<Endpoint> found = FindLocalSocket(Describe());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->ToString(), absl::StrCat("unix:", path_));
}

TEST_F(LocalSocketTest, AnotherSocketAtThePathIsNotIt) {
  const std::string description = Describe();
  // Both exist for a moment, so that the second cannot get the first one's inode.
  MakeSocket(folder_ / "other");
  ASSERT_EQ(rename((folder_ / "other").c_str(), path_.c_str()), 0);
  const absl::Status status = FindLocalSocket(description).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another socket"));
}

TEST_F(LocalSocketTest, NothingAtThePathOrAnotherHostIsNotIt) {
  const std::string description = Describe();
  EXPECT_TRUE(absl::IsNotFound(FindLocalSocket(absl::StrCat("x", description)).status()));
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_TRUE(absl::IsNotFound(FindLocalSocket(description).status()));
}

TEST_F(LocalSocketTest, AFileOfAnotherKindIsNotDescribed) {
  std::ofstream(folder_ / "file") << "text";
  EXPECT_THAT(std::string(DescribeLocalSocket(folder_ / "file").status().message()),
              HasSubstr("is no socket"));
  EXPECT_TRUE(absl::IsFailedPrecondition(DescribeLocalSocket(folder_ / "nothing").status()));
}

TEST(FindLocalSocketTest, SaysSoOfTextThatIsNoDescription) {
  for (const char* text : {"", "a", "a b", "a b relative", "a b ", "\xff\xfe"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FindLocalSocket(text).status())) << text;
  }
}

}  // namespace
}  // namespace marpc
