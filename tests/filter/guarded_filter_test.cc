#include "marpc/filter/guarded_filter.h"

#include <sstream>
#include <stdexcept>

#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/observe/log.h"
#include "spdlog/sinks/ostream_sink.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

class ThrowingFilter final : public Filter {
 public:
  absl::string_view name() const override { return "audit"; }
  Verdict Before(FilterCall&) override { throw std::runtime_error("disk full"); }
  void After(FilterCall&, const absl::Status&) override { throw std::runtime_error("after"); }
  void Abandoned(FilterCall&, const absl::Status&) override { throw 42; }
};

class GuardedFilterTest : public ::testing::Test {
 protected:
  GuardedFilterTest() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~GuardedFilterTest() override { SetLogger(nullptr); }

  std::ostringstream log_;
  ThrowingFilter filter_;
  google::protobuf::StringValue message_;
  RpcContext context_;
  MethodSettings settings_;
  std::shared_ptr<void> state_;
  FilterCall call_{InternMethod({.service = "test.Guarded", .name = "Call"}),
                   message_,
                   &message_,
                   context_,
                   settings_,
                   MonotonicTime(),
                   MonotonicTime::InfiniteFuture(),
                   state_};
};

TEST_F(GuardedFilterTest, BeforeThatThrowsFailsTheCallNamingTheFilter) {
  const Filter::Verdict verdict = GuardedBefore(filter_, call_);
  EXPECT_EQ(verdict.kind, Filter::Verdict::Kind::kFail);
  EXPECT_EQ(verdict.status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(verdict.status.message(), "the filter 'audit' of test.Guarded/Call threw: disk full");
  EXPECT_EQ(GetErrorInfo(verdict.status)->reason(), reason::kInternal);
}

TEST_F(GuardedFilterTest, AfterTheResultWhatIsThrownIsLogged) {
  GuardedAfter(filter_, call_, absl::OkStatus());
  EXPECT_THAT(log_.str(), HasSubstr("event=filter_threw filter=audit method=test.Guarded/Call "
                                    "what=\"after\""));
  GuardedAbandoned(filter_, call_, absl::UnavailableError("lost"));
  EXPECT_THAT(log_.str(), HasSubstr("no std::exception"));
}

}  // namespace
}  // namespace marpc
