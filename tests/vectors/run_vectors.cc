// Runs files of vectors (one JSON object a line) against marpc's policies:
//
//   run_vectors FILE...
//
// One line a case: PASS, FAIL, KNOWN (listed with its reason in known.txt) or TODO. Ends with 1
// when a case failed or a file could not be read.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/vector_case.h"

namespace marpc::vectors {
namespace {

struct Verdict {
  enum class Kind { kPass, kFail, kTodo };
  Kind kind = Kind::kPass;
  std::string text;
};

Verdict Run(const VectorCase& vector) {
  const RunKind run = FindKind(vector.area, vector.kind);
  if (run == nullptr) return {Verdict::Kind::kTodo, "capability not built yet"};
  const std::string difference = Difference(run(vector), vector.expect);
  if (difference.empty()) return {};
  return {Verdict::Kind::kFail, difference};
}

class Runner {
 public:
  explicit Runner(std::map<std::string, std::string> known) : known_(std::move(known)) {}

  void RunFile(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Fail(path, "the file cannot be read");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      RunLine(line, absl::StrCat(path, ":", number));
    }
    if (file.bad()) Fail(path, "the file cannot be read to its end");
  }

  bool failed() const { return failed_; }

 private:
  void RunLine(const std::string& line, const std::string& where) {
    VectorCase vector;
    vector.id = where;
    try {
      const Json json = Json::parse(line);
      vector.id = json.at("id").get<std::string>();
      vector.area = json.at("area").get<std::string>();
      vector.config = json.at("config");
      vector.kind = vector.config.at("kind").get<std::string>();
      vector.input = json.at("input");
      vector.expect = json.at("expect");
      Report(vector.id, Run(vector));
    } catch (const std::exception& error) {
      Report(vector.id, {Verdict::Kind::kFail, error.what()});
    }
  }

  void Report(const std::string& id, const Verdict& verdict) {
    const auto known = known_.find(id);
    switch (verdict.kind) {
      case Verdict::Kind::kTodo:
        return Print("TODO", id, verdict.text);
      case Verdict::Kind::kPass:
        if (known == known_.end()) return Print("PASS", id, "");
        return Fail(id, "is listed in known.txt, and passes: take it out");
      case Verdict::Kind::kFail:
        if (known != known_.end()) return Print("KNOWN", id, known->second);
        return Fail(id, verdict.text);
    }
  }

  void Fail(const std::string& id, const std::string& text) {
    failed_ = true;
    Print("FAIL", id, text);
  }

  static void Print(const char* word, const std::string& id, const std::string& text) {
    std::printf("%s %s%s%s\n", word, id.c_str(), text.empty() ? "" : ": ", text.c_str());
  }

  const std::map<std::string, std::string> known_;
  bool failed_ = false;
};

// Lines of an id and the reason, `#` begins a comment.
std::map<std::string, std::string> ReadKnown(const std::string& path) {
  std::map<std::string, std::string> known;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::pair<std::string, std::string> entry = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    known.insert(entry);
  }
  return known;
}

}  // namespace
}  // namespace marpc::vectors

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_vectors FILE...\n");
    return 2;
  }
  // What the cases provoke is no news.
  setenv("MARPC_LOG_LEVEL", "off", /*overwrite=*/0);
  marpc::vectors::Runner runner(marpc::vectors::ReadKnown(MARPC_KNOWN_VECTORS));
  for (int i = 1; i < argc; ++i) runner.RunFile(argv[i]);
  return runner.failed() ? 1 : 0;
}
