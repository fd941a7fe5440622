#include "demo-provider/hello_handler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "demo-provider/users.h"

namespace demo {
namespace {

constexpr int kMostTimes = 1000;
constexpr int kMostItems = 100'000;
// How soon Delay notices that its caller is gone.
constexpr absl::Duration kDelayStep = absl::Milliseconds(10);

absl::Status CheckRange(absl::string_view what, int value, int most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", value, " and must be between 0 and ", most));
}

// The demo's own services by their short names, HelloService's methods without one.
std::string ShortName(absl::string_view method) {
  absl::ConsumePrefix(&method, "demo.");
  absl::ConsumePrefix(&method, "HelloService/");
  return std::string(method);
}

}  // namespace

HelloHandler::HelloHandler(marpc::Consumer& consumer, Counts counts)
    : consumer_(consumer), counts_(std::move(counts)) {}

void HelloHandler::SetInstance(const std::string& endpoint) {
  absl::MutexLock lock(&mutex_);
  instance_ = endpoint;
}

std::string HelloHandler::instance() const {
  absl::MutexLock lock(&mutex_);
  return instance_;
}

const UserServiceClient& HelloHandler::next_hop() {
  // Not at the start: a client waits for the registry's list, and serving need not.
  absl::call_once(next_hop_made_, [this] { next_hop_.emplace(consumer_); });
  return *next_hop_;
}

absl::Status HelloHandler::Hello(marpc::ServerCall& call, const HelloRequest& request,
                                 HelloReply* reply) {
  if (sick_.load(std::memory_order_relaxed)) {
    call.MarkAsProcessFault();
    return absl::UnavailableError(absl::StrCat(instance(), " is sick; SetSick heals it"));
  }
  reply->set_message(absl::StrCat("Hello, ", request.name(), "!"));
  reply->set_instance(instance());
  return absl::OkStatus();
}

absl::Status HelloHandler::HelloTimes(marpc::ServerCall&, const HelloTimesRequest& request,
                                      HelloReply* reply) {
  if (absl::Status range = CheckRange("times", request.times(), kMostTimes); !range.ok()) {
    return range;
  }
  std::string message;
  for (int i = 0; i < request.times(); ++i) {
    absl::StrAppend(&message, i == 0 ? "" : " ", "Hello, ", request.name(), "!");
  }
  reply->set_message(std::move(message));
  reply->set_instance(instance());
  return absl::OkStatus();
}

absl::Status HelloHandler::Add(marpc::ServerCall&, const AddRequest& request, AddReply* reply) {
  int64_t sum = 0;
  if (__builtin_add_overflow(request.a(), request.b(), &sum)) {
    return absl::OutOfRangeError(
        absl::StrCat(request.a(), " + ", request.b(), " does not fit into 64 bits"));
  }
  reply->set_sum(sum);
  return absl::OkStatus();
}

absl::Status HelloHandler::List(marpc::ServerCall&, const ListRequest& request, ListReply* reply) {
  if (absl::Status range = CheckRange("count", request.count(), kMostItems); !range.ok()) {
    return range;
  }
  for (int i = 1; i <= request.count(); ++i) reply->add_items(absl::StrCat("item ", i));
  return absl::OkStatus();
}

absl::Status HelloHandler::GetUser(marpc::ServerCall&, const GetUserRequest& request, User* reply) {
  absl::StatusOr<User> user = FindUser(request.id());
  if (user.ok()) *reply = *std::move(user);
  return user.status();
}

absl::Status HelloHandler::Context(marpc::ServerCall& call, const ContextRequest& request,
                                   ContextReply* reply) {
  for (const auto& [key, value] : call.context().entries()) (*reply->mutable_here())[key] = value;
  if (!request.next_hop()) return absl::OkStatus();
  // Nothing is passed on by hand: the caller's entries are in force on this thread.
  absl::StatusOr<UserContext> next = next_hop().Context({});
  if (next.ok()) *reply->mutable_next_hop() = next->entries();
  return next.status();
}

absl::Status HelloHandler::Delay(marpc::ServerCall& call, const DelayRequest& request,
                                 HelloReply* reply) {
  const absl::Time end = absl::Now() + absl::Milliseconds(request.milliseconds());
  for (absl::Time now = absl::Now(); now < end; now = absl::Now()) {
    if (call.cancelled()) return absl::CancelledError("the caller is gone");
    absl::SleepFor(std::min(end - now, kDelayStep));
  }
  reply->set_message(absl::StrCat("after ", request.milliseconds(), " ms"));
  reply->set_instance(instance());
  return absl::OkStatus();
}

absl::Status HelloHandler::FailWith(marpc::ServerCall&, const FailWithRequest& request,
                                    HelloReply*) {
  if (request.code() < 1 || request.code() > 16) {
    return absl::InvalidArgumentError(
        absl::StrCat("FailWith: code is ", request.code(), " and must be between 1 and 16"));
  }
  return absl::Status(static_cast<absl::StatusCode>(request.code()), request.message());
}

absl::Status HelloHandler::SetSick(marpc::ServerCall&, const SetSickRequest& request,
                                   google::protobuf::Empty*) {
  sick_.store(request.sick());
  return absl::OkStatus();
}

absl::Status HelloHandler::Arrivals(marpc::ServerCall&, const google::protobuf::Empty&,
                                    ArrivalsReply* reply) {
  for (const auto& [method, calls] : counts_()) {
    if (!absl::StartsWith(method, "demo.")) continue;
    (*reply->mutable_by_method())[ShortName(method)] = static_cast<int64_t>(calls.arrived);
  }
  reply->set_instance(instance());
  return absl::OkStatus();
}

}  // namespace demo
