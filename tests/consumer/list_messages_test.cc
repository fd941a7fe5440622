#include "marpc/consumer/list_messages.h"

#include <atomic>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/consumer/consumer.h"
#include "marpc/observe/log.h"
#include "shop/shop.marpc.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/sinks/ostream_sink.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ListMessagesTest : public ::testing::Test {
 protected:
  ListMessagesTest() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~ListMessagesTest() override { SetLogger(nullptr); }

  // Of entries such as "a:1 first-owner".
  static ServiceSnapshot List(const std::vector<std::string>& entries) {
    ServiceSnapshot list;
    list.service = "test.List";
    for (const std::string& entry : entries) {
      Instance instance;
      instance.endpoint = *Endpoint::Parse(entry.substr(0, entry.find(' ')));
      instance.owner = entry.substr(entry.find(' ') + 1);
      list.instances.push_back(instance);
    }
    return list;
  }

  std::ostringstream log_;
};

TEST_F(ListMessagesTest, TheFirstListIsLoggedThoughItIsEmpty) {
  LogListChange(nullptr, List({}));
  EXPECT_THAT(log_.str(), HasSubstr("event=instances service=test.List known=0\n"));
}

TEST_F(ListMessagesTest, WhoCameWentAndWasRestartedIsToldApart) {
  const ServiceSnapshot before = List({"a:1 one", "b:1 two", "c:1 three"});
  LogListChange(&before, List({"b:1 two", "c:1 again", "d:1 four"}));
  EXPECT_THAT(log_.str(), HasSubstr("known=3 joined=d:1 restarted=c:1 left=a:1\n"));
}

TEST_F(ListMessagesTest, AListOfTheSameProcessesIsNotLogged) {
  const ServiceSnapshot before = List({"a:1 one"});
  ServiceSnapshot after = List({"a:1 one"});
  after.instances[0].weight = 0;
  LogListChange(&before, after);
  EXPECT_THAT(log_.str(), IsEmpty());
}

TEST_F(ListMessagesTest, GrayMarksThatComeAndGoAreLogged) {
  ServiceSnapshot before = List({"a:1 one"});
  before.gray_marks = {*Endpoint::Parse("a:1"), *Endpoint::Parse("b:1")};
  ServiceSnapshot after = List({"a:1 one"});
  after.gray_marks = {*Endpoint::Parse("b:1"), *Endpoint::Parse("c:1")};
  LogListChange(&before, after);
  EXPECT_THAT(log_.str(),
              HasSubstr("event=gray_marks service=test.List marks=2 marked=c:1 unmarked=a:1\n"));
  EXPECT_THAT(log_.str(), Not(HasSubstr("event=instances")));
}

TEST_F(ListMessagesTest, OfManyTheFirstTenAreNamed) {
  std::vector<std::string> entries;
  for (int port = 1001; port <= 1012; ++port) {
    entries.push_back("h:" + std::to_string(port) + " x");
  }
  LogListChange(nullptr, List(entries));
  EXPECT_THAT(log_.str(), HasSubstr("known=12 joined=h:1001,"));
  EXPECT_THAT(log_.str(), HasSubstr(",h:1010,...(12 in all)\n"));
  EXPECT_THAT(log_.str(), Not(HasSubstr("h:1011")));
}

TEST_F(ListMessagesTest, TheRegistryIsNamedWithTheEnvironmentAndWithoutTheSecret) {
  Settings settings;
  settings.env = "prod";
  settings.registry.auth = "user:secret";
  settings.registry.zk_address = "zk1:2181,zk2:2181/shop";
  EXPECT_EQ(RegistryInWords(settings), "zookeeper://zk1:2181,zk2:2181/shop, env prod");
  settings.registry.address = "file:/run/marpc";
  EXPECT_EQ(RegistryInWords(settings), "file:/run/marpc, env prod");
}

// As one that ships lines elsewhere may, and ask the consumer for more.
TEST(LogOfAConsumer, ASinkMayAskTheConsumer) {
  struct Asking final : spdlog::sinks::base_sink<spdlog::details::null_mutex> {
    void sink_it_(const spdlog::details::log_msg& line) override {
      Consumer* const asked = consumer.load();
      if (asked == nullptr) return;
      asked->Breakers("shop.Shop");
      const std::string text(line.payload.data(), line.payload.size());
      if (text.find("event=instances service=shop.Shop") != std::string::npos) ++lists;
      if (text.find("event=bad_policy method=shop.Shop/Saved") != std::string::npos) ++policies;
    }
    void flush_() override {}
    std::atomic<Consumer*> consumer{nullptr};
    std::atomic<int> lists{0};
    std::atomic<int> policies{0};
  };
  const auto sink = std::make_shared<Asking>();
  SetLogger(std::make_shared<spdlog::logger>("asks", sink));
  Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances["shop.Shop"] = {"127.0.0.1:1"};
  auto consumer = Consumer::Create(settings);
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  sink->consumer = consumer->get();
  EXPECT_FALSE((*consumer)->WaitForService("shop.Shop").ok()) << "Saved names a fallback";
  sink->consumer = nullptr;
  SetLogger(nullptr);
  EXPECT_EQ(sink->lists, 1);
  EXPECT_EQ(sink->policies, 1);
}

}  // namespace
}  // namespace marpc
