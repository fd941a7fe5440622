#include "demo-consumer/text_tail.h"

#include <deque>
#include <fstream>

namespace demo {

std::string TextTail(const std::string& path) {
  constexpr size_t kLines = 10;
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > kLines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "\n  | " + line;
  return text;
}

}  // namespace demo
