#include "marpc/registry/snapshot_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/registry/registry_fixture.h"
#include "tests/support/temporary_folder.h"

namespace marpc {
namespace {

class SnapshotStoreTest : public testing::Test {
 protected:
  static ServiceSnapshot Snapshot() {
    ServiceSnapshot snapshot;
    snapshot.service = kService;
    snapshot.instances = {MakeInstance("127.0.0.1:1"), MakeInstance("unix:/tmp/a")};
    snapshot.instances[0].weight = 3;
    snapshot.gray_marks.insert(*Endpoint::Parse("127.0.0.1:1"));
    snapshot.directives = {{"level", "degraded"}};
    return snapshot;
  }

  const TemporaryFolder temporary_;
  const SnapshotStore store_{temporary_ / "a/b", "dev"};
};

TEST_F(SnapshotStoreTest, AListComesBackAsItWas) {
  const ServiceSnapshot snapshot = Snapshot();
  ASSERT_TRUE(store_.Write(snapshot).ok());
  auto stored = store_.Read(kService);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->instances, snapshot.instances);
  EXPECT_EQ(stored->gray_marks, snapshot.gray_marks);
  EXPECT_EQ(stored->directives, snapshot.directives);
  EXPECT_GE(stored->age, absl::ZeroDuration());
  // No temporary files stay.
  int files = 0;
  for ([[maybe_unused]] const auto& file :
       std::filesystem::directory_iterator(temporary_ / "a/b")) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(SnapshotStoreTest, ANewListReplacesTheOld) {
  ServiceSnapshot snapshot = Snapshot();
  ASSERT_TRUE(store_.Write(snapshot).ok());
  snapshot.instances.clear();
  ASSERT_TRUE(store_.Write(snapshot).ok());
  EXPECT_TRUE(store_.Read(kService)->instances.empty());
}

TEST_F(SnapshotStoreTest, EnvironmentsAndServicesAreApart) {
  ASSERT_TRUE(store_.Write(Snapshot()).ok());
  EXPECT_FALSE(store_.Read("other.Service").has_value());
  EXPECT_FALSE(SnapshotStore(temporary_ / "a/b", "prod").Read(kService).has_value());
}

TEST_F(SnapshotStoreTest, FilesThatCannotBeReadAreNone) {
  ASSERT_TRUE(store_.Write(Snapshot()).ok());
  const std::string whole = [&] {
    std::ifstream file(store_.PathOf(kService));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  for (const std::string& text :
       {std::string(), std::string("{"), whole.substr(0, whole.size() / 2), std::string("[]"),
        std::string(R"({"service": "other.S"})"),
        std::string(R"({"service": "demo.HelloService", "instances": [{"endpoint": "x"}]})")}) {
    std::ofstream(store_.PathOf(kService)) << text;
    EXPECT_FALSE(store_.Read(kService).has_value()) << text;
  }
}

TEST_F(SnapshotStoreTest, WithoutAFolderNothingIsStored) {
  const SnapshotStore none("", "dev");
  EXPECT_FALSE(none.enabled());
  EXPECT_TRUE(none.Write(Snapshot()).ok());
  EXPECT_FALSE(none.Read(kService).has_value());
}

TEST_F(SnapshotStoreTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(temporary_ / "file") << "";
  const SnapshotStore blocked(temporary_ / "file/x", "dev");
  EXPECT_THAT(blocked.Write(Snapshot()).message(), testing::HasSubstr("file/x"));
}

}  // namespace
}  // namespace marpc
