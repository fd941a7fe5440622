// One demo-provider process, as the demo handles it.
#ifndef DEMO_CONSUMER_DEMO_PROVIDER_H_
#define DEMO_CONSUMER_DEMO_PROVIDER_H_

#include <signal.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "demo-consumer/child_process.h"
#include "demo/hello.grpc.pb.h"

namespace demo {

// Not thread-safe.
class DemoProvider {
 public:
  struct Options {
    std::string program;           // the path of demo-provider
    std::string config;            // its YAML
    std::string registry_address;  // where to register
    std::string environment = "demo";
    std::string name;
    std::string log;
  };

  // Starts the process; it may still be on its way up.
  static absl::StatusOr<std::unique_ptr<DemoProvider>> Start(const Options& options);
  // Until it says that it serves. The error tells what it wrote to its log.
  absl::Status WaitUntilServing();

  const std::string& name() const { return options_.name; }
  // host:port, once it serves.
  const std::string& endpoint() const { return endpoint_; }

  // SIGKILL: no goodbye of any kind.
  void Kill();
  // SIGSTOP: nothing is answered, and no connection ends; until Thaw().
  void Freeze() { process_->Signal(SIGSTOP); }
  void Thaw() { process_->Signal(SIGCONT); }
  // SIGTERM: deregisters, drains, stops. An error when it does not end well.
  absl::Status Stop();

  // Asked past marpc: straight to this process.
  absl::Status SetSick(bool sick);
  // Hello: 12, Add: 3, UserService/Get: 1 ...
  absl::StatusOr<std::map<std::string, int64_t>> Arrivals();

 private:
  DemoProvider(Options options, std::unique_ptr<ChildProcess> process);

  const Options options_;
  const std::unique_ptr<ChildProcess> process_;
  std::string endpoint_;
  std::unique_ptr<HelloService::Stub> direct_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_DEMO_PROVIDER_H_
