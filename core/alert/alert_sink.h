// Where alerts go.
#ifndef MARPC_ALERT_ALERT_SINK_H_
#define MARPC_ALERT_ALERT_SINK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace marpc {

// Send() is called by one thread at a time; Abort() by any.
class AlertSink {
 public:
  virtual ~AlertSink() = default;
  // For messages; holds no secret.
  virtual absl::string_view name() const = 0;
  // Waits for it, for as long as the sink was made to, or until Abort().
  virtual absl::Status Send(const std::string& json) = 0;
  // Ends a Send() that is under way, and those that follow, at once.
  virtual void Abort() = 0;
};

// Posts to `url`, and follows no redirect. With a secret, X-Marpc-Signature is "sha256=" and the
// HMAC-SHA256 in hexadecimal digits of "<X-Marpc-Timestamp>.<body>"; that timestamp is in seconds
// since 1970.
std::unique_ptr<AlertSink> MakeWebhookSink(const std::string& url, const std::string& secret,
                                           absl::Duration timeout);
std::string AlertSignature(absl::string_view secret, absl::string_view timestamp,
                           absl::string_view body);

// Runs the command, without a shell; the alert is its standard input. One that takes too long is
// killed, with its process group. In a program that ignores SIGCHLD or waits for all its children
// itself, how a command ended is not known; it counts as sent then.
std::unique_ptr<AlertSink> MakeCommandSink(const std::vector<std::string>& command,
                                           absl::Duration timeout);

}  // namespace marpc

#endif  // MARPC_ALERT_ALERT_SINK_H_
