// A stock gRPC server of demo.HelloService with a switch for faults, counting what arrives.
#ifndef TESTS_SUPPORT_ECHO_SERVER_H_
#define TESTS_SUPPORT_ECHO_SERVER_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "demo/hello.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace marpc::testing {

class EchoServer final : public demo::HelloService::Service {
 public:
  // Listens on a free port of loopback, or on `port`.
  explicit EchoServer(int port = 0) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                             &port_);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~EchoServer() override {
    release_.store(true);
    Stop();
  }

  void Stop() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  int arrivals() const { return arrivals_.load(); }

  // Every Hello answers with this status from now on. `marked`: as a marpc provider's handler
  // would.
  void FailWith(grpc::Status status, bool marked = false) {
    absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
    marked_ = marked;
  }
  // Every Hello hangs until its caller is gone or the server ends.
  void Hang(bool hang) { hang_.store(hang); }

  grpc::Status Hello(grpc::ServerContext* context, const demo::HelloRequest* request,
                     demo::HelloReply* reply) override {
    arrivals_.fetch_add(1);
    {
      absl::MutexLock lock(&mutex_);
      last_metadata_.clear();
      for (const auto& [key, value] : context->client_metadata()) {
        last_metadata_.emplace(std::string(key.data(), key.size()),
                               std::string(value.data(), value.size()));
      }
    }
    while (hang_.load() && !context->IsCancelled() && !release_.load()) {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(
                                  +[](bool*) { return false; }, &never_),
                              absl::Milliseconds(2));
    }
    absl::MutexLock lock(&mutex_);
    if (marked_) context->AddTrailingMetadata("marpc-origin", "handler");
    if (!status_.ok()) return status_;
    reply->set_message("hello, " + request->name());
    reply->set_instance(endpoint());
    return grpc::Status::OK;
  }

  std::multimap<std::string, std::string> last_metadata() {
    absl::MutexLock lock(&mutex_);
    return last_metadata_;
  }

 private:
  int port_ = 0;
  std::atomic<int> arrivals_{0};
  std::atomic<bool> hang_{false};
  std::atomic<bool> release_{false};
  absl::Mutex mutex_;
  bool never_ = false;
  grpc::Status status_;
  bool marked_ = false;
  std::multimap<std::string, std::string> last_metadata_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_ECHO_SERVER_H_
