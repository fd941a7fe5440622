// What one process makes of a service's folders, where it cannot read them.
#include "marpc/registry/file/file_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <vector>

#include "marpc/registry/file/entry_file.h"
#include "marpc/registry/text_file.h"
#include "tests/registry/registry_fixture.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// As long as it lives, this process can open nothing (EMFILE).
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

class FileServiceTest : public testing::Test, protected Backend::Events {
 protected:
  FileServiceTest() { EXPECT_TRUE(MakeFolders(layout_.folder).ok()); }

  // UBSan looks at a type once, and needs a descriptor for it.
  void SetUp() override {
    Backend::Events& events = *this;
    events.OnRepaired("", "");
    events.OnBadEntry("", absl::OkStatus());
    bad_entries_ = 0;
  }

  void OnConnection(RegistryState::Connection, absl::string_view) override {}
  void OnReading(const std::string&, Reading) override {}
  void OnBadEntry(absl::string_view, const absl::Status& why) override {
    ++bad_entries_;
    last_why_ = why;
  }
  void OnRepaired(absl::string_view, absl::string_view) override {}

  void Place(const std::string& endpoint, int weight = 100) {
    Instance instance = MakeInstance(endpoint);
    instance.weight = weight;
    const Entry entry(kService, instance, 0);
    EXPECT_TRUE(file_.Place(layout_.Providers(kService) + "/" + endpoint, entry.Json()).ok());
  }
  std::vector<int> Weights() {
    std::vector<int> weights;
    for (const Instance& one : service_.MakeReading().instances) weights.push_back(one.weight);
    return weights;
  }

  const TemporaryFolder temporary_;
  const FileLayout layout_{temporary_ / "registry", "dev"};
  const std::unique_ptr<Inotify> inotify_ = *Inotify::Open();
  FileService service_{layout_, kService, *this};
  OwnedEntryFile file_;
  int bad_entries_ = 0;
  absl::Status last_why_;
};

TEST_F(FileServiceTest, DirectivesThatAreTooLongAreSaidToBe) {
  ASSERT_TRUE(service_.Arm(*inotify_).ok());
  const std::string path = layout_.Directives(kService);
  ASSERT_TRUE(ReplaceTextFile(path, R"({"directives": {"level": "degraded"}})").ok());
  ASSERT_TRUE(service_.CheckDirectives().ok());
  ASSERT_TRUE(ReplaceTextFile(path, std::string(kMaxDirectivesBytes + 1, ' ')).ok());
  EXPECT_TRUE(service_.CheckDirectives().ok());
  EXPECT_TRUE(service_.CheckDirectives().ok());
  EXPECT_EQ(bad_entries_, 1);
  EXPECT_EQ(last_why_.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(last_why_.message(), ::testing::HasSubstr("is longer than"));
  EXPECT_EQ(service_.MakeReading().directives, (Directives{{"level", "degraded"}}));
}

TEST_F(FileServiceTest, AnEntryThatCannotBeOpenedStaysAsItWasSeenAndIsLookedAtAgain) {
  ASSERT_TRUE(service_.Arm(*inotify_).ok());
  Place("127.0.0.1:1", 100);
  EXPECT_TRUE(service_.CheckEntry("127.0.0.1:1"));
  Place("127.0.0.1:1", 50);
  {
    NoDescriptors none;
    EXPECT_FALSE(service_.CheckEntry("127.0.0.1:1"));
    EXPECT_FALSE(service_.CheckDoubtful());
  }
  EXPECT_THAT(Weights(), ElementsAre(100));
  EXPECT_EQ(bad_entries_, 1) << "it is told of once";
  EXPECT_TRUE(service_.CheckDoubtful());
  EXPECT_THAT(Weights(), ElementsAre(50));
  EXPECT_FALSE(service_.CheckDoubtful());
}

TEST_F(FileServiceTest, AnEntryThatCouldNotBeOpenedWhenItCameIsLookedAtAgain) {
  ASSERT_TRUE(service_.Arm(*inotify_).ok());
  Place("127.0.0.1:1");
  {
    NoDescriptors none;
    service_.CheckEntry("127.0.0.1:1");
  }
  EXPECT_THAT(Weights(), IsEmpty());
  EXPECT_TRUE(service_.CheckDoubtful());
  EXPECT_THAT(Weights(), ElementsAre(100));
}

TEST_F(FileServiceTest, MarksAndThoseWhoLeftStayWhereTheyCannotBeRead) {
  ASSERT_TRUE(service_.Arm(*inotify_).ok());
  const std::string mark = layout_.Gray(kService) + "/127.0.0.1:1";
  ASSERT_TRUE(ReplaceTextFile(mark, "").ok());
  ASSERT_TRUE(service_.CheckGray().ok());
  ASSERT_TRUE(WriteLeft(layout_, kService, "owner").ok());
  EXPECT_THAT(service_.MakeReading().left, ElementsAre("owner"));
  {
    NoDescriptors none;
    EXPECT_FALSE(service_.CheckGray().ok());
    EXPECT_EQ(service_.MakeReading().gray_marks.size(), 1u);
    EXPECT_THAT(service_.MakeReading().left, ElementsAre("owner"));
  }
  EXPECT_EQ(unlink(mark.c_str()), 0);
  EXPECT_TRUE(service_.CheckDoubtful()) << "the marks are read again";
  EXPECT_THAT(service_.MakeReading().gray_marks, IsEmpty());
}

TEST_F(FileServiceTest, AFolderThatCannotBeListedIsNoEmptyOne) {
  ASSERT_TRUE(service_.Arm(*inotify_).ok());
  Place("127.0.0.1:1");
  {
    NoDescriptors none;
    EXPECT_FALSE(service_.Arm(*inotify_).ok());
    EXPECT_FALSE(service_.Armed());
  }
  EXPECT_TRUE(service_.Arm(*inotify_).ok());
  EXPECT_THAT(Weights(), ElementsAre(100));
}

}  // namespace
}  // namespace marpc
