#include "bench/sim/chart.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace marpc::sim {
namespace {

constexpr double kWidth = 820;
constexpr double kLeft = 70;
constexpr double kRight = 190;  // for the lines' names
constexpr double kTop = 50;
constexpr double kPanelHeight = 170;
constexpr double kGap = 45;
constexpr double kBottom = 55;
constexpr std::array<absl::string_view, 4> kColours = {"#c0392b", "#1f6fb2", "#2e8b57", "#8e44ad"};

// Where a value lies on the paper.
class Scale {
 public:
  Scale(const Axis& axis, double at_from, double at_to)
      : axis_(axis), at_from_(at_from), at_to_(at_to) {}
  double operator()(double value) const {
    const double part =
        (std::clamp(value, axis_.from, axis_.to) - axis_.from) / (axis_.to - axis_.from);
    return at_from_ + part * (at_to_ - at_from_);
  }

 private:
  const Axis& axis_;
  const double at_from_;
  const double at_to_;
};

std::string Text(double x, double y, absl::string_view anchor, absl::string_view text,
                 absl::string_view more = "") {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>%s</text>\n", x, y,
                         anchor, more, text);
}

std::string DrawPanel(const Chart& chart, const Panel& panel, double top) {
  const double bottom = top + kPanelHeight;
  const double right = kWidth - kRight;
  const Scale x(chart.x, kLeft, right);
  const Scale y(panel.y, bottom, top);
  std::string svg;
  if (chart.shaded.second > chart.shaded.first) {
    absl::StrAppendFormat(&svg,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                          "fill=\"#888\" fill-opacity=\"0.15\"/>\n",
                          x(chart.shaded.first), top,
                          x(chart.shaded.second) - x(chart.shaded.first), kPanelHeight);
  }
  for (const auto& [value, label] : panel.y.ticks) {
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#888\" stroke-opacity=\"0.35\"/>\n",
                          kLeft, y(value), right, y(value));
    svg += Text(kLeft - 8, y(value) + 4, "end", label);
  }
  for (const auto& [value, label] : chart.x.ticks) {
    svg += Text(x(value), bottom + 18, "middle", label);
  }
  svg += Text(kLeft, top - 10, "start", panel.y.title, "font-weight=\"bold\"");
  for (size_t i = 0; i < panel.lines.size(); ++i) {
    const Line& line = panel.lines[i];
    const absl::string_view colour = kColours[i % kColours.size()];
    absl::StrAppend(&svg, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"", colour,
                    "\" points=\"");
    for (const auto& [px, py] : line.points)
      absl::StrAppendFormat(&svg, "%.1f,%.1f ", x(px), y(py));
    svg += "\"/>\n";
    svg += Text(right + 12, top + 16 + 20 * static_cast<double>(i), "start", line.name,
                absl::StrCat("fill=\"", colour, "\""));
  }
  return svg;
}

}  // namespace

std::string ToSvg(const Chart& chart) {
  const double height =
      kTop + kBottom - kGap + 20 + (kPanelHeight + kGap) * static_cast<double>(chart.panels.size());
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#666\">\n",
      kWidth, height);
  absl::StrAppend(&svg, "<title>", chart.title, "</title>\n");
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  svg +=
      Text(kLeft, 22, "start", chart.title, "font-size=\"15\" font-weight=\"bold\" fill=\"#333\"");
  double top = kTop + 10;
  for (const Panel& panel : chart.panels) {
    svg += DrawPanel(chart, panel, top);
    top += kPanelHeight + kGap;
  }
  svg += Text((kLeft + kWidth - kRight) / 2, height - 12, "middle", chart.x.title);
  svg += "</svg>\n";
  return svg;
}

}  // namespace marpc::sim
