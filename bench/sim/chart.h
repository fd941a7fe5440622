// Line charts as SVG, readable on white and on dark ground.
#ifndef MARPC_BENCH_SIM_CHART_H_
#define MARPC_BENCH_SIM_CHART_H_

#include <string>
#include <utility>
#include <vector>

namespace marpc::sim {

struct Axis {
  std::string title;
  double from = 0;
  double to = 1;
  // Where it is marked, and with what.
  std::vector<std::pair<double, std::string>> ticks;
};

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // ascending in x; beyond the axes they are cut
};

struct Panel {
  Axis y;
  std::vector<Line> lines;
};

struct Chart {
  std::string title;
  Axis x;
  std::vector<Panel> panels;  // one below the other
  // A stretch of x that is shaded in every panel.
  std::pair<double, double> shaded = {0, 0};
};

std::string ToSvg(const Chart& chart);

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_CHART_H_
