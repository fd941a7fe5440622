// A gRPC server that knows no messages: whatever is called, it answers OK and the bytes that it was
// given, or no message at all.
#ifndef TESTS_SUPPORT_RAW_SERVER_H_
#define TESTS_SUPPORT_RAW_SERVER_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/grpcpp.h"

namespace marpc::testing {

class RawServer final : public grpc::CallbackGenericService {
 public:
  explicit RawServer(std::optional<std::string> answer) : answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~RawServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  int arrivals() const { return arrivals_.load(); }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Call(const std::optional<std::string>& answer) {
      if (answer.has_value()) {
        grpc::Slice slice(*answer);
        answer_.emplace(&slice, 1);
      }
      StartRead(&request_);
    }
    void OnReadDone(bool) override {
      if (answer_.has_value()) {
        StartWriteAndFinish(&*answer_, {}, grpc::Status::OK);
      } else {
        Finish(grpc::Status::OK);
      }
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer request_;
    std::optional<grpc::ByteBuffer> answer_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    arrivals_.fetch_add(1);
    return new Call(answer_);
  }

  const std::optional<std::string> answer_;
  int port_ = 0;
  std::atomic<int> arrivals_{0};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_RAW_SERVER_H_
