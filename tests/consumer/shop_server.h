// Stock gRPC servers of shop.proto that count what arrives.
#ifndef MARPC_TESTS_CONSUMER_SHOP_SERVER_H_
#define MARPC_TESTS_CONSUMER_SHOP_SERVER_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/grpcpp.h"
#include "shop/shop.grpc.pb.h"

namespace marpc::testing {

class ShopServer final {
 public:
  ShopServer() : shop_(*this), guild_(*this), stall_(*this) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&shop_);
    builder.RegisterService(&guild_);
    builder.RegisterService(&stall_);
    server_ = builder.BuildAndStart();
  }
  ~ShopServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }
  // What every call is answered with from now on.
  void AnswerWith(grpc::Status status) {
    absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
  }
  // Every call is unanswered until its caller is gone.
  void Hang() {
    absl::MutexLock lock(&mutex_);
    hang_ = true;
  }
  int arrivals(const std::string& method) {
    absl::MutexLock lock(&mutex_);
    return arrivals_[method];
  }

 private:
  using Context = grpc::ServerContext;
  using Text = shop::Text;

  grpc::Status Answer(const std::string& method, Context* context, const Text* request,
                      Text* reply) {
    absl::MutexLock lock(&mutex_);
    ++arrivals_[method];
    while (hang_ && !context->IsCancelled()) {
      bool never = false;
      mutex_.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(2));
    }
    reply->set_text(absl::StrCat("answer to ", request->text()));
    return status_;
  }

  class Shop final : public shop::Shop::Service {
   public:
    explicit Shop(ShopServer& server) : server_(server) {}
    grpc::Status ByService(Context* c, const Text* q, Text* a) override {
      return server_.Answer("ByService", c, q, a);
    }
    grpc::Status ByMethod(Context* c, const Text* q, Text* a) override {
      return server_.Answer("ByMethod", c, q, a);
    }
    grpc::Status ByLevel(Context* c, const Text* q, Text* a) override {
      return server_.Answer("ByLevel", c, q, a);
    }
    grpc::Status Cached(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Cached", c, q, a);
    }
    grpc::Status Guarded(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Guarded", c, q, a);
    }
    grpc::Status Timed(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Timed", c, q, a);
    }
    grpc::Status Saved(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Saved", c, q, a);
    }
    grpc::Status Advised(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Advised", c, q, a);
    }

   private:
    ShopServer& server_;
  };
  class Guild final : public shop::Guild::Service {
   public:
    explicit Guild(ShopServer& server) : server_(server) {}
    grpc::Status One(Context* c, const Text* q, Text* a) override {
      return server_.Answer("One", c, q, a);
    }
    grpc::Status Two(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Two", c, q, a);
    }

   private:
    ShopServer& server_;
  };

  class Stall final : public shop::Stall::Service {
   public:
    explicit Stall(ShopServer& server) : server_(server) {}
    grpc::Status One(Context* c, const Text* q, Text* a) override {
      return server_.Answer("One", c, q, a);
    }
    grpc::Status Two(Context* c, const Text* q, Text* a) override {
      return server_.Answer("Two", c, q, a);
    }

   private:
    ShopServer& server_;
  };

  Shop shop_;
  Guild guild_;
  Stall stall_;
  int port_ = 0;
  absl::Mutex mutex_;
  grpc::Status status_;
  bool hang_ = false;
  std::map<std::string, int> arrivals_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_CONSUMER_SHOP_SERVER_H_
