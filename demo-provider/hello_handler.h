// demo.HelloService: greetings, and switches that make this one process faulty.
#ifndef DEMO_PROVIDER_HELLO_HANDLER_H_
#define DEMO_PROVIDER_HELLO_HANDLER_H_

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "demo/hello.marpc.h"
#include "demo/user.marpc.h"
#include "marpc/consumer/consumer.h"
#include "marpc/provider/method_counters.h"

namespace demo {

class HelloHandler final : public HelloServiceHandler {
 public:
  // How often each method of this process was called, by its full name.
  using Counts = std::function<std::map<std::string, marpc::MethodCalls>()>;

  // `consumer` makes the calls that Context() asks for, and outlives this.
  HelloHandler(marpc::Consumer& consumer, Counts counts);

  // What the replies call this process; empty before.
  void SetInstance(const std::string& endpoint);

  absl::Status Hello(marpc::ServerCall& call, const HelloRequest& request,
                     HelloReply* reply) override;
  absl::Status HelloTimes(marpc::ServerCall& call, const HelloTimesRequest& request,
                          HelloReply* reply) override;
  absl::Status Add(marpc::ServerCall& call, const AddRequest& request, AddReply* reply) override;
  absl::Status List(marpc::ServerCall& call, const ListRequest& request, ListReply* reply) override;
  absl::Status GetUser(marpc::ServerCall& call, const GetUserRequest& request,
                       User* reply) override;
  absl::Status Context(marpc::ServerCall& call, const ContextRequest& request,
                       ContextReply* reply) override;
  absl::Status Delay(marpc::ServerCall& call, const DelayRequest& request,
                     HelloReply* reply) override;
  absl::Status FailWith(marpc::ServerCall& call, const FailWithRequest& request,
                        HelloReply* reply) override;
  absl::Status SetSick(marpc::ServerCall& call, const SetSickRequest& request,
                       google::protobuf::Empty* reply) override;
  absl::Status Arrivals(marpc::ServerCall& call, const google::protobuf::Empty& request,
                        ArrivalsReply* reply) override;

 private:
  std::string instance() const;
  const UserServiceClient& next_hop();

  marpc::Consumer& consumer_;
  absl::once_flag next_hop_made_;
  std::optional<UserServiceClient> next_hop_;
  const Counts counts_;
  std::atomic<bool> sick_{false};
  mutable absl::Mutex mutex_;
  std::string instance_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace demo

#endif  // DEMO_PROVIDER_HELLO_HANDLER_H_
