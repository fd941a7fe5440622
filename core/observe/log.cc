#include "marpc/observe/log.h"

#include <cstdlib>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "spdlog/sinks/stdout_color_sinks.h"

namespace marpc {
namespace {

std::shared_ptr<spdlog::logger> MakeDefault() {
  auto logger = std::make_shared<spdlog::logger>(
      "marpc", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  const char* level = std::getenv("MARPC_LOG_LEVEL");
  logger->set_level(level == nullptr ? spdlog::level::warn : spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::warn);
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
