// The demo: starts a registry and three providers, plays the scenes on them as their consumer, and
// stops them all.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "demo-consumer/options.h"
#include "demo-consumer/report.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo-consumer/stage.h"
#include "demo-consumer/termination.h"
#include "marpc/observe/log.h"
#include "spdlog/sinks/basic_file_sink.h"

namespace demo {
namespace {

// A whole run takes less than a minute; a loaded machine may need some more.
constexpr absl::Duration kLongestRun = absl::Minutes(3);

absl::StatusOr<std::string> MakeFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "marpc-demo-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", pattern));
  }
  return pattern;
}

// marpc's warnings of the faults that the scenes make would drown what is shown.
absl::Status LogInto(const std::string& file) {
  try {
    auto logger = std::make_shared<spdlog::logger>(
        "marpc", std::make_shared<spdlog::sinks::basic_file_sink_mt>(file));
    logger->flush_on(spdlog::level::warn);
    marpc::SetLogger(std::move(logger));
  } catch (const spdlog::spdlog_ex& error) {
    return absl::InternalError(error.what());
  }
  return absl::OkStatus();
}

// Its last claim is that the next scene finds the stage as it was; `restored` says whether it does.
SceneResult Play(const Scene& scene, Stage& stage, bool& restored) {
  SceneResult result;
  result.scene = scene;
  const absl::Time begin = absl::Now();
  const absl::Status played = scene.play(stage, result.evidence);
  result.evidence.ExpectOk(played, "the scene can be played to its end");
  const absl::Status as_before = stage.WaitUntilRegistered();
  result.evidence.ExpectOk(as_before, "the stage is as it was");
  restored = as_before.ok();
  result.took = absl::Now() - begin;
  result.ok = result.evidence.faults().empty();
  return result;
}

bool PlayAll(const Options& options, const std::string& folder, Termination& termination,
             Report& report) {
  report.Say(absl::StrCat("starting ", options.registry == "file" ? "" : "a ZooKeeper server and ",
                          Stage::kProviders, " providers ..."));
  absl::StatusOr<std::unique_ptr<Stage>> stage =
      Stage::Build({options.registry, options.provider_program, folder});
  if (!stage.ok()) {
    std::cerr << "demo-consumer: " << stage.status().message() << "\n";
    return false;
  }
  std::string endpoints;
  for (const std::string& endpoint : (*stage)->fleet().endpoints()) endpoints += "  " + endpoint;
  report.Say(absl::StrCat("registry ", (*stage)->registry().address(), "\nproviders", endpoints));
  bool restored = true;
  for (const Scene& scene : options.scenes) {
    if (!restored) {
      report.Say(absl::StrCat("\n", scene.name, ": not played, since the stage is not as it was"));
      continue;
    }
    termination.SetActivity(absl::StrCat("scene ", scene.name));
    report.SceneStarts(scene);
    report.SceneEnded(Play(scene, **stage, restored));
  }
  termination.SetActivity("the end of the providers");
  const absl::Status closed = (*stage)->Close();
  const bool shown = report.Conclude();
  if (!closed.ok()) std::cerr << "demo-consumer: " << closed.message() << "\n";
  return shown && closed.ok();
}

int Run(const Options& options) {
  const absl::StatusOr<std::string> folder = MakeFolder();
  if (!folder.ok()) {
    std::cerr << "demo-consumer: " << folder.status().message() << "\n";
    return 1;
  }
  bool shown = false;
  {
    Termination termination(*folder, kLongestRun);
    const char* no_colour = getenv("NO_COLOR");
    const bool colour =
        !options.json && isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
    Report report({options.json, colour}, std::cout, std::cerr);
    const absl::Status log = LogInto(*folder + "/demo-consumer.log");
    if (!log.ok()) std::cerr << "demo-consumer: no log: " << log.message() << "\n";
    shown = PlayAll(options, *folder, termination, report);
    if (!shown) std::cerr << "demo-consumer: the logs are kept in " << *folder << "\n";
  }
  std::error_code error;
  if (shown) std::filesystem::remove_all(*folder, error);
  return shown ? 0 : 1;
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  const std::variant<demo::Options, int> read = demo::ReadCommandLine(argc, argv);
  if (const int* exit_code = std::get_if<int>(&read)) return *exit_code;
  return demo::Run(std::get<demo::Options>(read));
}
