#include "demo-consumer/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace demo {
namespace {

using Json = nlohmann::ordered_json;

// {a: 1, b: 2} as "a 1, b 2".
std::string Words(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::vector<std::string> parts;
  if (value.is_object()) {
    for (const auto& [key, part] : value.items())
      parts.push_back(absl::StrCat(key, " ", Words(part)));
    return absl::StrJoin(parts, ", ");
  }
  if (value.is_array()) {
    for (const Json& part : value) parts.push_back(Words(part));
    return absl::StrJoin(parts, ", ");
  }
  return value.dump();
}

std::string Seconds(absl::Duration duration) {
  return absl::StrFormat("%.1f s", absl::ToDoubleSeconds(duration));
}

}  // namespace

std::string Report::In(Colour colour, const std::string& text) const {
  if (!options_.colour) return text;
  const char* code = colour == Colour::kGreen  ? "32"
                     : colour == Colour::kRed  ? "1;31"
                     : colour == Colour::kBold ? "1"
                                               : "2";
  return absl::StrCat("\033[", code, "m", text, "\033[0m");
}

void Report::Say(const std::string& line) { talk() << line << std::endl; }

void Report::SceneStarts(const Scene& scene) {
  talk() << "\n"
         << In(Colour::kBold, absl::StrFormat("%2d  %-12s", scene.number, scene.name))
         << scene.title << std::endl;
}

void Report::SceneEnded(SceneResult result) {
  if (options_.json) PrintJson(result);
  PrintBlock(result);
  results_.push_back(std::move(result));
}

void Report::PrintJson(const SceneResult& result) {
  const Json line = {{"scene", result.scene.number},
                     {"name", result.scene.name},
                     {"ok", result.ok},
                     {"seconds", absl::ToInt64Milliseconds(result.took) / 1000.0},
                     {"showed", result.evidence.summary()},
                     {"measured", result.evidence.measured()},
                     {"faults", result.evidence.faults()}};
  // What a peer said may be no UTF-8.
  out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

void Report::PrintBlock(const SceneResult& result) {
  size_t width = 0;
  const Json& measured = result.evidence.measured();
  for (const auto& [key, value] : measured.items()) width = std::max(width, key.size());
  for (const auto& [key, value] : measured.items()) {
    const std::string words = absl::StrReplaceAll(key, {{"_", " "}});
    talk() << "    " << In(Colour::kDim, absl::StrFormat("%-*s", width, words)) << "  "
           << Words(value) << "\n";
  }
  for (const std::string& fault : result.evidence.faults()) {
    talk() << "    " << In(Colour::kRed, "not so: ") << fault << "\n";
  }
  talk() << "    " << (result.ok ? In(Colour::kGreen, "ok") : In(Colour::kRed, "FAILED")) << ", "
         << Seconds(result.took) << std::endl;
}

bool Report::Conclude() {
  absl::Duration total;
  size_t failed = 0;
  talk() << "\n"
         << In(Colour::kBold, absl::StrFormat("%2s  %-12s %-7s %8s  %s", "#", "scene", "result",
                                              "time", "what it showed"))
         << "\n";
  for (const SceneResult& result : results_) {
    total += result.took;
    failed += result.ok ? 0 : 1;
    const std::string verdict = absl::StrFormat("%-7s", result.ok ? "ok" : "FAILED");
    const std::vector<std::string>& faults = result.evidence.faults();
    talk() << absl::StrFormat("%2d  %-12s ", result.scene.number, result.scene.name)
           << In(result.ok ? Colour::kGreen : Colour::kRed, verdict)
           << absl::StrFormat(" %8s  ", Seconds(result.took))
           << (result.ok ? result.evidence.summary() : absl::StrCat("not so: ", faults.front()))
           << "\n";
  }
  talk() << "\n"
         << (failed == 0 ? absl::StrCat(results_.size(), " of ", results_.size(),
                                        " scenes showed what they claim")
                         : absl::StrCat(failed, " of ", results_.size(),
                                        " scenes did NOT show what they claim"))
         << ", in " << Seconds(total) << std::endl;
  return failed == 0;
}

}  // namespace demo
