#include "marpc/alert/alert.h"

#include "nlohmann/json.hpp"

namespace marpc {

std::string AlertJson(const Alert& alert, const AlertSource& source, absl::Time at,
                      uint64_t left_out, uint64_t dropped) {
  nlohmann::ordered_json json;
  json["event"] = alert.event;
  json["subject"] = alert.subject;
  json["reason"] = alert.reason;
  json["app"] = source.app;
  json["env"] = source.env;
  json["at"] = absl::FormatTime(absl::RFC3339_full, at, absl::UTCTimeZone());
  json["leftOut"] = left_out;
  json["dropped"] = dropped;
  return json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace marpc
