// A provider that is a process of its own, so that it can be killed and stopped.
#ifndef MARPC_TESTS_PITFALLS_SERVING_CHILD_H_
#define MARPC_TESTS_PITFALLS_SERVING_CHILD_H_

#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/support/child_process.h"

namespace marpc::testing {

class ServingChild {
 public:
  ServingChild()
      : process_({.arguments = {MARPC_PITFALLS_CHILD, "serve"}, .log = ""}),
        endpoint_(process_.ReadLine()) {
    reader_ = std::thread([this] {
      while (!process_.ReadLine().empty()) arrivals_.fetch_add(1);
    });
  }
  ~ServingChild() {
    process_.Kill(SIGKILL);
    reader_.join();
  }
  const std::string& endpoint() const { return endpoint_; }
  int arrivals() const { return arrivals_.load(); }
  void Kill(int signal) const { process_.Kill(signal); }

 private:
  ChildProcess process_;
  const std::string endpoint_;
  std::atomic<int> arrivals_{0};
  std::thread reader_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PITFALLS_SERVING_CHILD_H_
