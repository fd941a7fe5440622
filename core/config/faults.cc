#include "marpc/config/faults.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace marpc {
namespace {

constexpr size_t kLongestShown = 60;

// Letters to add, drop, replace or swap with their neighbour to make `a` of `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  std::iota(cost[0].begin(), cost[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

// max_retries, max-retries and MAXRETRIES are all meant to be maxRetries.
std::string Simplified(absl::string_view name) {
  std::string simplified;
  for (char c : name) {
    if (c != '_' && c != '-') simplified += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return simplified;
}

}  // namespace

void Faults::Add(Mark mark, std::string message) {
  if (!full()) faults_.emplace_back(mark, std::move(message));
}

absl::Status Faults::ToStatus(absl::string_view file) const {
  if (faults_.empty()) return absl::OkStatus();
  auto sorted = faults_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.line, a.first.column) < std::tie(b.first.line, b.first.column);
  });
  std::string text;
  for (const auto& [mark, message] : sorted) {
    if (!text.empty()) text += '\n';
    absl::StrAppend(&text, file);
    if (mark.line > 0) absl::StrAppend(&text, ":", mark.line, ":", mark.column);
    absl::StrAppend(&text, ": ", message);
  }
  if (full())
    absl::StrAppend(&text, "\n", file, ": there are more faults; these are the first ", kMax);
  return absl::InvalidArgumentError(text);
}

std::string Quote(absl::string_view value) {
  size_t shown = std::min(value.size(), kLongestShown);
  // Not in the midst of a character.
  while (shown < value.size() && (value[shown] & 0xc0) == 0x80) --shown;
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(value.substr(0, shown)),
                      shown < value.size() ? "..." : "", "'");
}

std::optional<std::string> Nearest(absl::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr size_t kLongestName = 100;
  if (word.size() > kLongestName) return std::nullopt;
  const std::string wanted = Simplified(word);
  const std::string* nearest = nullptr;
  size_t least = kLongestName;
  for (const std::string& candidate : candidates) {
    const std::string other = Simplified(candidate);
    const size_t distance = EditDistance(wanted, other);
    // A third of the letters may be wrong; beyond that the guess would be a joke.
    const size_t allowed = std::max<size_t>(1, std::max(wanted.size(), other.size()) / 3);
    if (distance > allowed || distance >= least) continue;
    least = distance;
    nearest = &candidate;
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

std::string NearestOrKnown(absl::string_view word, std::vector<std::string> candidates) {
  if (const std::optional<std::string> nearest = Nearest(word, candidates)) {
    return absl::StrCat("; did you mean '", *nearest, "'?");
  }
  if (candidates.empty()) return "";
  std::sort(candidates.begin(), candidates.end());
  return absl::StrCat("; known: ", absl::StrJoin(candidates, ", "));
}

}  // namespace marpc
