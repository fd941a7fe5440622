#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "marpc/registry/address.h"
#include "marpc/registry/registry.h"
#include "tests/registry/registry_fixture.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Scheme = RegistryAddress::Scheme;

absl::StatusOr<RegistryAddress> Parse(const std::string& text) {
  RegistrySettings settings;
  settings.address = text;
  return ParseRegistryAddress(settings);
}

TEST(RegistryAddressTest, ZookeeperNamesServersAndAChroot) {
  auto address = Parse("zookeeper://zk1:2181, zk2 ,[::1]:2182/apps/marpc/");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->scheme, Scheme::kZookeeper);
  EXPECT_EQ(address->hosts, "zk1:2181,zk2:2181,[::1]:2182");
  EXPECT_EQ(address->chroot, "/apps/marpc");
}

TEST(RegistryAddressTest, WithoutAnAddressItIsZookeeperAtZkAddress) {
  auto address = ParseRegistryAddress(RegistrySettings());
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->hosts, "localhost:2181");
  EXPECT_EQ(address->text, "zookeeper://localhost:2181");
  RegistrySettings settings;
  settings.zk_address = "zookeeper://zk1:1/x";
  EXPECT_EQ(ParseRegistryAddress(settings)->chroot, "/x");
}

TEST(RegistryAddressTest, AFolderIsAbsolute) {
  EXPECT_EQ(Parse("file:/run/marpc/")->folder, "/run/marpc");
  EXPECT_EQ(Parse("file:///run/marpc")->folder, "/run/marpc");
  for (const char* bad : {"file:", "file:marpc", "file://host/marpc", "file:/"}) {
    EXPECT_THAT(Parse(bad).status().message(), HasSubstr("absolute path")) << bad;
  }
}

TEST(OpenRegistryTest, AServerThatCannotBeLookedUpIsSaidToBeSo) {
  Settings settings;
  settings.registry.address = "zookeeper://no-such-host.invalid:2181";
  settings.registry.connect_timeout = absl::ZeroDuration();
  auto registry = OpenRegistry(settings);
  ASSERT_TRUE(registry.ok()) << registry.status();
  EXPECT_TRUE(Eventually([&] {
    return (*registry)->state().detail ==
           "cannot begin to connect to no-such-host.invalid:2181: the host cannot be looked up";
  })) << (*registry)->state().detail;
}

TEST(RegistryAddressTest, BadOnesNameTheFaultAndTheWayOut) {
  EXPECT_EQ(Parse("etcd://a:1").status(),
            absl::InvalidArgumentError("unknown registry scheme 'etcd' in 'etcd://a:1'; known: "
                                       "zookeeper, file, memory, static"));
  EXPECT_THAT(Parse("localhost").status().message(), HasSubstr("no scheme"));
  EXPECT_THAT(Parse("zookeeper://").status().message(), HasSubstr("'' is no server"));
  EXPECT_THAT(Parse("zookeeper://a:1,,b:2").status().message(), HasSubstr("'' is no server"));
  EXPECT_THAT(Parse("zookeeper://a:99999").status().message(), HasSubstr("'a:99999'"));
  EXPECT_THAT(Parse("zookeeper://a:1/x//y").status().message(), HasSubstr("chroot"));
  EXPECT_THAT(Parse("memory:").status().message(), HasSubstr("expected a name"));
  EXPECT_THAT(Parse("static:a:1").status().message(), HasSubstr("registry.static"));
}

TEST(OpenRegistryTest, RefusesAnEnvironmentThatIsNoPathComponent) {
  Settings settings;
  settings.registry.address = "memory:x";
  settings.env = "a/b";
  EXPECT_THAT(OpenRegistry(settings).status().message(), HasSubstr("env 'a/b'"));
}

TEST(StaticRegistryTest, ListsWhatTheSettingsSay) {
  Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances[kService] = {"127.0.0.1:2", "127.0.0.1:1"};
  auto registry = OpenRegistry(settings);
  ASSERT_TRUE(registry.ok()) << registry.status();
  Recorder recorder, nothing;
  auto subscription = (*registry)->Subscribe(kService, recorder.listener());
  auto other = (*registry)->Subscribe("other.Service", nothing.listener());
  EXPECT_NE(recorder.WaitForEndpoints({"127.0.0.1:1", "127.0.0.1:2"}), nullptr);
  EXPECT_NE(nothing.WaitForEndpoints({}), nullptr);
}

TEST(StaticRegistryTest, AProviderRunsAndMarksAreRefused) {
  Settings settings;
  settings.registry.address = "static:";
  auto registry = *OpenRegistry(settings);
  auto lease = registry->Register(kService, MakeInstance("127.0.0.1:1"));
  ASSERT_TRUE(lease.ok());
  EXPECT_TRUE(Eventually([&] { return (*lease)->registered(); }));
  EXPECT_THAT(registry->SetGray(kService, *Endpoint::Parse("127.0.0.1:1"), true).message(),
              HasSubstr("consumer.gray()"));
  EXPECT_THAT(registry->SetDirective(kService, "level", "normal").message(),
              HasSubstr("Consumer::SetDegradation()"));
}

TEST(StaticRegistryTest, BadEndpointsAreRefusedAtTheStart) {
  Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances[kService] = {"127.0.0.1"};
  EXPECT_THAT(OpenRegistry(settings).status().message(), HasSubstr("the port is missing"));
  settings.registry.static_instances[kService] = {"127.0.0.1:1", "127.0.0.1:1"};
  EXPECT_THAT(OpenRegistry(settings).status().message(), HasSubstr("twice"));
}

}  // namespace
}  // namespace marpc
