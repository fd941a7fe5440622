#include "tests/docs/markdown.h"

#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace marpc::testing {
namespace {

std::string AnchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) || c == '-' || c == '_') {
      anchor += absl::ascii_tolower(byte);
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

void AddLinks(const std::string& line, int number, std::vector<Link>& links) {
  static const std::regex* const kInline = new std::regex(R"(\]\(([^)\s]+)\))");
  static const std::regex* const kHtml = new std::regex(R"re((?:src|href|srcset)="([^"]+)")re");
  for (const std::regex* form : {kInline, kHtml}) {
    for (std::sregex_iterator it(line.begin(), line.end(), *form), end; it != end; ++it) {
      links.push_back({(*it)[1].str(), number});
    }
  }
}

}  // namespace

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

MarkdownPage ReadPage(const std::filesystem::path& path) {
  MarkdownPage page;
  page.path = path;
  std::istringstream in(ReadFile(path));
  FencedBlock* open = nullptr;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(bare, "```")) {
      if (open == nullptr) {
        open = &page.blocks.emplace_back();
        open->language = std::string(bare.substr(3));
        open->line = number + 1;
      } else {
        open = nullptr;
      }
    } else if (open != nullptr) {
      absl::StrAppend(&open->text, line, "\n");
    } else {
      AddLinks(line, number, page.links);
      const size_t level = line.find_first_not_of('#');
      if (level != std::string::npos && level > 0 && line[level] == ' ') {
        page.anchors.insert(AnchorOf(line.substr(level + 1)));
      }
    }
  }
  return page;
}

std::vector<MarkdownPage> AllPages() {
  const std::filesystem::path root = MARPC_SOURCE_DIR;
  std::vector<MarkdownPage> pages;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() == ".md") pages.push_back(ReadPage(entry.path()));
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(ReadPage(entry.path()));
  }
  return pages;
}

std::vector<std::string> BareLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (!bare.empty()) lines.emplace_back(bare);
  }
  return lines;
}

}  // namespace marpc::testing
