#include "marpc/observe/log.h"

#include <cstdlib>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "spdlog/sinks/stdout_color_sinks.h"

namespace marpc {
namespace {

std::shared_ptr<spdlog::logger> MakeDefault() {
  auto logger = std::make_shared<spdlog::logger>(
      "marpc", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(spdlog::level::warn);
  logger->flush_on(spdlog::level::warn);
  const char* name = std::getenv("MARPC_LOG_LEVEL");
  if (name == nullptr || *name == '\0') return logger;
  const spdlog::level::level_enum level = spdlog::level::from_str(name);
  // from_str() takes what it does not know for off.
  if (level == spdlog::level::off && absl::string_view(name) != "off") {
    logger->warn(
        "event=bad_log_level MARPC_LOG_LEVEL is '{}', which is none of trace, debug, info, warn, "
        "error, critical and off; warn is in force",
        absl::Utf8SafeCEscape(name));
  } else {
    logger->set_level(level);
  }
  return logger;
}

struct Current {
  absl::Mutex mutex;
  std::shared_ptr<spdlog::logger> logger ABSL_GUARDED_BY(mutex) = MakeDefault();
};

// Never destroyed: a thread that still runs at exit may log.
Current& current() {
  static Current& instance = *new Current;
  return instance;
}

}  // namespace

std::shared_ptr<spdlog::logger> Logger() {
  absl::MutexLock lock(&current().mutex);
  return current().logger;
}

void SetLogger(std::shared_ptr<spdlog::logger> logger) {
  if (logger == nullptr) logger = MakeDefault();
  absl::MutexLock lock(&current().mutex);
  current().logger = std::move(logger);
}

}  // namespace marpc
