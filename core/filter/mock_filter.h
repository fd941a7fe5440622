// Answers calls without any provider: for tests, demos, and work on a consumer whose provider does
// not exist yet. Off until filter.mock.enabled (method_defaults.mock.enabled in code) is true.
//
//   consumer->mock().Reply("demo.HelloService/Hello", reply);  // "Hello": of whatever service
//   consumer->mock().Fail("demo.UserService/Get", absl::NotFoundError("no such user"));
//   consumer->mock().Clear();
//
// or in YAML, per method: `filter: {mock: {enabled: true, reply: '{"message": "hi"}'}}`, or `code`
// and `message`. Answers set in code go before those of YAML. A mocked answer is not cached.
#ifndef MARPC_FILTER_MOCK_FILTER_H_
#define MARPC_FILTER_MOCK_FILTER_H_

#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "marpc/filter/filter.h"

namespace marpc {

// Thread-safe.
class MockFilter final : public Filter {
 public:
  absl::string_view name() const override { return "mock"; }
  int order() const override { return 0; }
  bool AppliesTo(const Method& method, const MethodSettings& settings) const override {
    (void)method;
    return settings.mock.enabled;
  }
  Verdict Before(FilterCall& call) override;

  // Whether the YAML answer of `method` can be given: its `reply` must be JSON of the method's
  // reply message.
  static absl::Status Check(const Method& method, const MockSettings& settings);

  void Reply(absl::string_view method, const google::protobuf::MessageLite& reply);
  void Fail(absl::string_view method, absl::Status status);
  void Clear();

 private:
  // Fills the reply or says why not.
  using Answer = std::function<absl::Status(google::protobuf::MessageLite* reply)>;
  void Set(absl::string_view method, Answer answer);

  absl::Mutex mutex_;
  std::map<std::string, Answer, std::less<>> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_FILTER_MOCK_FILTER_H_
