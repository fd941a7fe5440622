// What BackedRegistry does whatever the backend, with a backend that follows a script.
#include "marpc/registry/backed_registry.h"

#include "gtest/gtest.h"

namespace marpc {
namespace {

// Connected all the time but for gaps so short that they do not count as losses: each operation
// falls into one, and is refused the first time.
class GappedBackend final : public Backend {
 public:
  explicit GappedBackend(EventLoop& loop) : loop_(loop) {}

  void Start(Events* events) override {
    events_ = events;
    events_->OnConnection(RegistryState::Connection::kConnected, "first");
  }
  void SetGray(const std::string&, const Endpoint&, bool, Done done) override {
    Answer(std::move(done));
  }
  void ClearGray(const std::string&, Done done) override { Answer(std::move(done)); }

  void SetDirective(const std::string&, const std::string&, const std::string&,
                    Done done) override {
    Answer(std::move(done));
  }

  void Watch(const std::string&) override {}
  void Unwatch(const std::string&) override {}
  void Enter(std::shared_ptr<Entry>) override {}
  void Change(const std::shared_ptr<Entry>&) override {}
  void Withdraw(std::shared_ptr<Entry>, Done done) override { done(absl::OkStatus()); }
  void Stop() override {}

 private:
  void Answer(Done done) {
    if (in_gap_) {
      in_gap_ = false;
      return done(absl::OkStatus());
    }
    in_gap_ = true;
    loop_.Post([this] { events_->OnConnection(RegistryState::Connection::kConnected, "again"); });
    done(absl::UnavailableError("in the gap"));
  }

  EventLoop& loop_;
  Events* events_ = nullptr;
  bool in_gap_ = false;
};

TEST(BackedRegistryTest, MarksMadeInAShortGapAreMadeAfterIt) {
  BackedRegistry::Options options;
  options.name = "gapped";
  options.environment = "test";
  const auto opened = BackedRegistry::Open(options, Clock::Real(), [](EventLoop& loop) {
    return std::unique_ptr<Backend>(std::make_unique<GappedBackend>(loop));
  });
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::shared_ptr<Registry>& registry = *opened;
  const Endpoint endpoint = *Endpoint::Parse("127.0.0.1:1");
  EXPECT_TRUE(registry->SetGray("demo.HelloService", endpoint, true).ok());
  EXPECT_TRUE(registry->ClearGray("demo.HelloService").ok());
  EXPECT_TRUE(registry->SetDirective("demo.HelloService", "level", "normal").ok());
}

// Takes operations and never says what became of them.
class MuteBackend final : public Backend {
 public:
  explicit MuteBackend(bool connects) : connects_(connects) {}

  void Start(Events* events) override {
    if (connects_) events->OnConnection(RegistryState::Connection::kConnected, "");
  }
  void SetGray(const std::string&, const Endpoint&, bool, Done) override {}
  void ClearGray(const std::string&, Done) override {}
  void SetDirective(const std::string&, const std::string&, const std::string&, Done) override {}
  void Watch(const std::string&) override {}
  void Unwatch(const std::string&) override {}
  void Enter(std::shared_ptr<Entry>) override {}
  void Change(const std::shared_ptr<Entry>&) override {}
  void Withdraw(std::shared_ptr<Entry>, Done done) override { done(absl::OkStatus()); }
  void Stop() override {}

 private:
  const bool connects_;
};

TEST(BackedRegistryTest, AChangeThatWasSentAndNotAnsweredMayStillTakeEffectWhichIsSaid) {
  for (const bool connects : {true, false}) {
    BackedRegistry::Options options;
    options.name = "mute";
    options.environment = "test";
    options.connect_timeout = absl::Milliseconds(30);
    const auto opened = BackedRegistry::Open(options, Clock::Real(), [&](EventLoop&) {
      return std::unique_ptr<Backend>(std::make_unique<MuteBackend>(connects));
    });
    ASSERT_TRUE(opened.ok()) << opened.status();
    const absl::Status status = (*opened)->SetDirective("demo.HelloService", "level", "normal");
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(status.message().find("the change may still take effect") != std::string::npos,
              connects)
        << status;
  }
}

}  // namespace
}  // namespace marpc
