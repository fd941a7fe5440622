#include "marpc/retry/retry_log.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"

namespace marpc {

std::string RetryLogLine::ToString() const {
  const bool retry = event == Event::kRetry;
  return absl::StrCat(
      retry ? "event=retry" : "event=retry_gave_up",
      " operation=", absl::Utf8SafeCEscape(operation), retry ? " attempt=" : " attempts=", attempt,
      retry ? absl::StrCat(" next=", next_attempt, " delay=", absl::FormatDuration(delay)) : "",
      instance.empty() ? "" : absl::StrCat(" instance=", absl::Utf8SafeCEscape(instance)),
      " code=", absl::StatusCodeToString(error.code()), " reason=\"", absl::Utf8SafeCEscape(reason),
      "\"");
}

void LogRetryLine(const RetryLogLine& line) {
  // The error is the caller's to report. One that is no business of retries is hardly news here.
  const bool refused = line.event == RetryLogLine::Event::kGaveUp && !line.spent;
  const auto level = refused ? spdlog::level::debug : spdlog::level::info;
  if (const auto logger = Logger(); logger->should_log(level)) logger->log(level, line.ToString());
}

}  // namespace marpc
