// Reads Markdown as far as these tests need it: fenced blocks, links, headings.
#ifndef TESTS_DOCS_MARKDOWN_H_
#define TESTS_DOCS_MARKDOWN_H_

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace marpc::testing {

struct FencedBlock {
  std::string language;
  std::string text;
  int line = 0;  // of its first line, from 1
};

struct Link {
  std::string target;
  int line = 0;
};

struct MarkdownPage {
  std::filesystem::path path;
  std::vector<FencedBlock> blocks;
  std::vector<Link> links;        // outside of blocks
  std::set<std::string> anchors;  // as GitHub makes them of headings
};

std::string ReadFile(const std::filesystem::path& path);
MarkdownPage ReadPage(const std::filesystem::path& path);
// README, guide, design notes and all other pages of the repository.
std::vector<MarkdownPage> AllPages();
// The lines of `text` without what stands before and after them, and without empty ones.
std::vector<std::string> BareLines(const std::string& text);

}  // namespace marpc::testing

#endif  // TESTS_DOCS_MARKDOWN_H_
