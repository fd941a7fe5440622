#include "marpc/config/names.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckNamesTest : public testing::Test {
 protected:
  CheckNamesTest() {
    google::protobuf::FileDescriptorProto file;
    file.set_name("shop.proto");
    file.set_package("shop");
    file.add_message_type()->set_name("Nothing");
    google::protobuf::ServiceDescriptorProto* service = file.add_service();
    service->set_name("Orders");
    for (const char* name : {"Create", "ListByUser"}) {
      google::protobuf::MethodDescriptorProto* method = service->add_method();
      method->set_name(name);
      method->set_input_type(".shop.Nothing");
      method->set_output_type(".shop.Nothing");
    }
    EXPECT_NE(pool_.BuildFile(file), nullptr);
  }

  absl::Status Check(const std::string& services) {
    const absl::StatusOr<Settings> settings =
        ParseSettings("marpc: {services: {" + services + "}}", "c.yaml");
    EXPECT_TRUE(settings.ok()) << settings.status();
    return CheckNames(*settings, &warnings_, &pool_);
  }

  google::protobuf::DescriptorPool pool_;
  std::vector<std::string> warnings_;
};

TEST_F(CheckNamesTest, AcceptsWhatTheServiceHas) {
  EXPECT_TRUE(Check("shop.Orders: {methods: {Create: {retry: {maxRetries: 0}}}}").ok());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CheckNamesTest, RefusesAMethodThatTheServiceHasNotWithTheNearestOne) {
  const absl::Status status = Check("shop.Orders: {methods: {Craete: {}, Zap: {}}}");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      std::string(status.message()),
      "c.yaml: marpc.services.shop.Orders.methods: shop.Orders has no method 'Craete'; did you "
      "mean 'Create'?\n"
      "c.yaml: marpc.services.shop.Orders.methods: shop.Orders has no method 'Zap'; known: "
      "Create, ListByUser");
}

TEST_F(CheckNamesTest, WarnsOfAServiceThatIsNotLinkedIn) {
  EXPECT_TRUE(Check("shop.Order: {methods: {Anything: {}}}").ok());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("marpc.services.shop.Order: ")));
}

TEST_F(CheckNamesTest, TakesTheLinkedDescriptorsWhereNoneAreGiven) {
  Settings settings;
  settings.services["shop.Orders"];
  EXPECT_TRUE(CheckNames(settings, &warnings_).ok());
  EXPECT_THAT(warnings_, testing::SizeIs(1));
  EXPECT_TRUE(CheckNames(settings, nullptr).ok());
}

}  // namespace
}  // namespace marpc
