#include "marpc/provider/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

std::string SocketPath(const std::string& name) {
  const std::string path = ::testing::TempDir() + name;
  unlink(path.c_str());
  return path;
}

// A bound and listening socket; its file stays when it is closed.
int ListenOn(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(fd, 1), 0);
  return fd;
}

Endpoint Listen(const std::string& text) { return *Endpoint::ParseListen(text); }

TEST(Listen, InstanceWinsOverHostAndPort) {
  ProviderSettings settings;
  settings.host = "127.0.0.2";
  settings.port = 1234;
  EXPECT_EQ(ListenEndpoint(settings)->ToString(), "127.0.0.2:1234");
  settings.instance = "localhost:4321";
  EXPECT_EQ(ListenEndpoint(settings)->ToString(), "localhost:4321");
  settings.instance = "nonsense";
  EXPECT_THAT(std::string(ListenEndpoint(settings).status().message()),
              HasSubstr("provider.instance"));
}

TEST(Listen, Ipv6HostNeedsNoBrackets) {
  ProviderSettings settings;
  settings.host = "::1";
  EXPECT_EQ(ListenEndpoint(settings)->ToString(), "[::1]:0");
}

TEST(Listen, HostThatDoesNotResolveIsNamed) {
  const absl::Status status = CheckFree(Listen("no-such-host.invalid:0"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no-such-host.invalid"));
}

TEST(Listen, AddressOfAnotherMachineIsNamedWithTheWayOut) {
  const absl::Status status = CheckFree(Listen("192.0.2.1:0"));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("provider.host"));
}

TEST(Listen, StaleSocketFileIsRemovedAndALiveOneIsNot) {
  const std::string path = SocketPath("marpc-listen.sock");
  const int fd = ListenOn(path);
  const absl::Status taken = CheckFree(Listen("unix:" + path));
  EXPECT_EQ(taken.code(), absl::StatusCode::kFailedPrecondition) << taken;
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  close(fd);
  EXPECT_TRUE(CheckFree(Listen("unix:" + path)).ok());
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(Listen, FileThatIsNoSocketStays) {
  const std::string path = SocketPath("marpc-listen.txt");
  std::ofstream(path) << "precious";
  EXPECT_EQ(CheckFree(Listen("unix:" + path)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  unlink(path.c_str());
}

TEST(Listen, MissingFolderIsSaid) {
  const absl::Status status = CheckFree(Listen("unix:/no-such-folder/x.sock"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("folder"));
}

TEST(Advertise, ListeningEndpointUnlessToldOtherwise) {
  ProviderSettings settings;
  EXPECT_EQ(AdvertisedEndpoint(settings, Listen("127.0.0.1:5000"))->ToString(), "127.0.0.1:5000");
  settings.advertise = "example.org:80";
  EXPECT_EQ(AdvertisedEndpoint(settings, Listen("0.0.0.0:5000"))->ToString(), "example.org:80");
  settings.advertise = "[2001:db8::1]:0";
  EXPECT_EQ(AdvertisedEndpoint(settings, Listen("[::]:5000"))->ToString(), "[2001:db8::1]:5000");
  settings.advertise = "bad";
  EXPECT_THAT(std::string(AdvertisedEndpoint(settings, Listen("[::]:5000")).status().message()),
              HasSubstr("provider.advertise"));
}

TEST(Advertise, EveryAddressBecomesTheMachinesNameOrAnError) {
  const absl::StatusOr<Endpoint> advertised =
      AdvertisedEndpoint(ProviderSettings(), Listen("0.0.0.0:5000"));
  if (advertised.ok()) {
    char name[256] = {};
    ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
    EXPECT_EQ(advertised->ToString(), std::string(name) + ":5000");
  } else {
    EXPECT_THAT(std::string(advertised.status().message()), HasSubstr("provider.advertise"));
  }
}

}  // namespace
}  // namespace marpc
