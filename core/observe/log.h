// marpc's own log: one spdlog logger named "marpc" that an application may replace.
//
//   marpc::SetLogger(my_spdlog_logger);
//
// Structured lines are `event=retry method=demo.HelloService/Hello attempt=1 next=2 ...`. Nothing
// is logged on the way of a call that succeeds at once; elsewhere a level that is off costs what
// Logger() does, a lock and a copied pointer, and one load. Secrets are never logged.
#ifndef MARPC_OBSERVE_LOG_H_
#define MARPC_OBSERVE_LOG_H_

#include <memory>

#include "spdlog/spdlog.h"

namespace marpc {

// The logger in force. Writes to stderr at `warn` and above by default; MARPC_LOG_LEVEL (trace,
// debug, info, warn, error, critical, off) sets the level at the start. Thread-safe.
std::shared_ptr<spdlog::logger> Logger();

// Thread-safe. Null restores the default.
void SetLogger(std::shared_ptr<spdlog::logger> logger);

}  // namespace marpc

#endif  // MARPC_OBSERVE_LOG_H_
