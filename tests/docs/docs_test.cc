// What the pages say must stay true of the tree: links lead somewhere, YAML loads, and code is code
// that is built.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"
#include "tests/docs/markdown.h"

namespace marpc {
namespace {

using testing::AllPages;
using testing::BareLines;
using testing::FencedBlock;
using testing::Link;
using testing::MarkdownPage;

namespace fs = std::filesystem;

const fs::path& Root() {
  static const fs::path& root = *new fs::path(MARPC_SOURCE_DIR);
  return root;
}

std::string Where(const MarkdownPage& page, int line) {
  return absl::StrCat(fs::relative(page.path, Root()).string(), ":", line);
}

// Sources that a test builds: each as its bare lines, with a line break before and after each.
std::vector<std::string> BuiltSources() {
  std::vector<std::string> sources;
  for (const auto& entry : fs::recursive_directory_iterator(Root() / "docs" / "examples")) {
    if (!entry.is_regular_file()) continue;
    sources.push_back(
        absl::StrCat("\n", absl::StrJoin(BareLines(testing::ReadFile(entry.path())), "\n"), "\n"));
  }
  return sources;
}

bool IsInclude(const std::string& line) { return absl::StartsWith(line, "#include \""); }

// The parts of a block between its lines "// ..."; each #include is one of its own.
std::vector<std::string> Parts(const FencedBlock& block) {
  std::vector<std::string> parts = {"\n"};
  for (const std::string& line : BareLines(block.text)) {
    if (line == "// ...") {
      parts.emplace_back("\n");
    } else if (IsInclude(line)) {
      parts.push_back(absl::StrCat("\n", line, "\n"));
      parts.emplace_back("\n");
    } else {
      absl::StrAppend(&parts.back(), line, "\n");
    }
  }
  return parts;
}

TEST(DocsTest, PagesAreFound) {
  const std::vector<MarkdownPage> pages = AllPages();
  const auto has = [&](const char* name) {
    return std::any_of(pages.begin(), pages.end(),
                       [&](const MarkdownPage& page) { return page.path == Root() / name; });
  };
  EXPECT_TRUE(has("README.md"));
  EXPECT_TRUE(has("README.zh-CN.md"));
  EXPECT_TRUE(has("docs/guide/getting-started.md"));
  EXPECT_TRUE(has("docs/design/overview.md"));
}

TEST(DocsTest, RelativeLinksLeadSomewhere) {
  for (const MarkdownPage& page : AllPages()) {
    for (const Link& link : page.links) {
      if (absl::StrContains(link.target, "://") || absl::StartsWith(link.target, "mailto:")) {
        continue;
      }
      const size_t hash = link.target.find('#');
      const std::string file = link.target.substr(0, hash);
      const fs::path target = file.empty() ? page.path : page.path.parent_path() / file;
      if (!fs::exists(target)) {
        ADD_FAILURE() << Where(page, link.line) << ": " << link.target << " leads nowhere";
      } else if (hash != std::string::npos && target.extension() == ".md") {
        EXPECT_TRUE(testing::ReadPage(target).anchors.contains(link.target.substr(hash + 1)))
            << Where(page, link.line) << ": " << link.target << " names no heading";
      }
    }
  }
}

TEST(DocsTest, PagesNamedInSourcesExist) {
  const std::regex page("docs/[A-Za-z0-9_/-]+\\.(md|svg)");
  for (const char* folder : {"core", "registry", "config", "cmake", "scripts", "proto", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(Root() / folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = testing::ReadFile(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), page), end; it != end; ++it) {
        EXPECT_TRUE(fs::exists(Root() / it->str())) << entry.path() << " names " << it->str();
      }
    }
  }
}

TEST(DocsTest, ConfigurationsLoadWithoutAWarning) {
  int loaded = 0;
  for (const MarkdownPage& page : AllPages()) {
    for (const FencedBlock& block : page.blocks) {
      if (block.language != "yaml") continue;
      ++loaded;
      std::vector<std::string> warnings;
      LoadOptions options;
      options.warnings = &warnings;
      options.environment = [](const std::string& name) -> std::optional<std::string> {
        if (name == "ZK_AUTH") return "user:secret";
        return std::nullopt;
      };
      const auto settings = ParseSettings(block.text, Where(page, block.line), options);
      EXPECT_TRUE(settings.ok()) << Where(page, block.line) << "\n" << settings.status().message();
      EXPECT_TRUE(warnings.empty()) << Where(page, block.line) << "\n"
                                    << absl::StrJoin(warnings, "\n");
    }
  }
  EXPECT_GT(loaded, 10);
}

// Word for word but for indentation: what a reader copies is what a test has built.
TEST(DocsTest, CodeIsTakenFromExamplesThatAreBuilt) {
  const std::vector<std::string> sources = BuiltSources();
  int compared = 0;
  for (const MarkdownPage& page : AllPages()) {
    for (const FencedBlock& block : page.blocks) {
      if (block.language != "cpp" && block.language != "proto" && block.language != "cmake") {
        continue;
      }
      for (const std::string& part : Parts(block)) {
        ++compared;
        EXPECT_TRUE(
            std::any_of(sources.begin(), sources.end(),
                        [&](const std::string& source) { return absl::StrContains(source, part); }))
            << Where(page, block.line) << ": not in any file below docs/examples:" << part;
      }
    }
  }
  EXPECT_GT(compared, 10);
}

// A reader who lands in the middle of a page must not have to look for the header.
TEST(DocsTest, CodeOfTheGuideNamesItsHeaders) {
  int looked_at = 0;
  for (const MarkdownPage& page : AllPages()) {
    if (page.path.parent_path() != Root() / "docs" / "guide") continue;
    for (const FencedBlock& block : page.blocks) {
      if (block.language != "cpp") continue;
      ++looked_at;
      EXPECT_TRUE(IsInclude(BareLines(block.text).front()))
          << Where(page, block.line) << ": begins with no #include";
    }
  }
  EXPECT_GT(looked_at, 10);
}

}  // namespace
}  // namespace marpc
