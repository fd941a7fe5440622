#include "tools/marpcctl/service_list.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "marpc/config/yaml_node.h"
#include "marpc/registry/outcome.h"

namespace marpc::ctl {
namespace {

using Row = std::vector<std::string>;

std::string GrayOf(const Instance& instance, const ServiceSnapshot& list) {
  const bool marked = list.gray_marks.contains(instance.endpoint);
  if (instance.gray) return marked ? "own, mark" : "own";
  return marked ? "mark" : "";
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ServiceSnapshot>> ReadList(Registry& registry,
                                                                absl::string_view service,
                                                                absl::Duration timeout) {
  struct Heard {
    std::mutex mutex;
    std::shared_ptr<const ServiceSnapshot> list;
    Outcome outcome;
  };
  const auto heard = std::make_shared<Heard>();
  const auto subscription =
      registry.Subscribe(service, [heard](std::shared_ptr<const ServiceSnapshot> list) {
        {
          std::lock_guard<std::mutex> lock(heard->mutex);
          heard->list = std::move(list);
        }
        heard->outcome.Set(absl::OkStatus());
      });
  if (!subscription.ok()) return subscription.status();
  if (!heard->outcome.WaitFor(timeout).has_value()) {
    const std::string detail = registry.state().detail;
    return absl::UnavailableError(absl::StrCat("the registry has not answered within ",
                                               absl::FormatDuration(timeout),
                                               detail.empty() ? "" : ": ", detail));
  }
  std::lock_guard<std::mutex> lock(heard->mutex);
  return heard->list;
}

std::string Shown(const std::string& text) {
  bool plain = IsText(text);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) plain = false;
    // U+0080 to U+009F are control characters, too.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      plain = false;
    }
  }
  return plain ? text : absl::StrCat("'", absl::CHexEscape(text), "'");
}

std::string InstanceTable(const ServiceSnapshot& list) {
  std::vector<Row> rows = {{"ENDPOINT", "WEIGHT", "GRAY", "ZONE", "VERSION", "APP"}};
  std::set<Endpoint> absent = list.gray_marks;
  for (const Instance& instance : list.instances) {
    absent.erase(instance.endpoint);
    rows.push_back({Shown(instance.endpoint.ToString()), absl::StrCat(instance.weight),
                    GrayOf(instance, list), Shown(instance.zone), Shown(instance.version),
                    Shown(instance.app)});
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].empty()) row[i] = "-";
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      absl::StrAppend(&text, row[i], last ? "\n" : std::string(widths[i] - row[i].size() + 2, ' '));
    }
  }
  for (const Endpoint& endpoint : absent) {
    absl::StrAppend(&text, "marked gray, and not there: ", Shown(endpoint.ToString()), "\n");
  }
  return text;
}

}  // namespace marpc::ctl
