#include "app/simulate_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/format.h"
#include "base/units.h"

namespace hearth::app {
namespace {

constexpr double kWidth = 900, kLeft = 70, kRight = 20, kPlot = 180, kGap = 60, kTop = 50;
constexpr std::array<const char*, 6> kColours = {"#3366cc", "#d9730d", "#2e8b57",
                                                 "#b03a8c", "#7a6a00", "#5b5b5b"};

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

// A number of the axis that ends on 1, 2 or 5.
double round_up(double most) {
  if (most <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {1.0, 2.0, 5.0, 10.0})
    if (most <= step * power) return step * power;
  return most;
}

// One plot: a frame with its words, and lines in it.
class Plot {
 public:
  Plot(std::string& out, double top, double x_most, double y_most)
      : out_(out), top_(top), x_most_(std::max(x_most, 1e-9)), y_most_(std::max(y_most, 1e-9)) {}

  void frame(const std::string& title, const std::vector<std::pair<double, std::string>>& x_marks,
             const std::vector<std::pair<double, std::string>>& y_marks) {
    out_ +=
        format(R"(<text x="{}" y="{:.1f}" class="t">{}</text>)", kLeft, top_ - 8, escape(title));
    for (const auto& [x, words] : x_marks) {
      out_ += format(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" class="g"/>)",
                     x_of(x), top_, top_ + kPlot);
      // The last one ends where the plot does.
      out_ += format(R"(<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>)", x_of(x),
                     top_ + kPlot + 16, x >= x_most_ ? "e" : "m", escape(words));
    }
    for (const auto& [y, words] : y_marks) {
      out_ += format(R"(<line x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}" class="g"/>)", kLeft,
                     y_of(y), kWidth - kRight);
      out_ += format(R"(<text x="{}" y="{:.1f}" class="e">{}</text>)", kLeft - 6, y_of(y) + 4,
                     escape(words));
    }
  }
  // A staircase through the points.
  void steps(const std::vector<std::pair<double, double>>& points, const char* colour) {
    if (points.empty()) return;
    std::string path = format("M{:.1f} {:.1f}", x_of(points[0].first), y_of(points[0].second));
    for (size_t i = 1; i < points.size(); ++i)
      path += format("H{:.1f}V{:.1f}", x_of(points[i].first), y_of(points[i].second));
    out_ += format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.5"/>)", path, colour);
  }
  void word(size_t row, const std::string& text, const char* colour) {
    out_ += format(R"(<text x="{:.1f}" y="{:.1f}" class="e" style="fill:{}">{}</text>)",
                   kWidth - kRight - 8, top_ + kPlot - 10 - 15 * static_cast<double>(row), colour,
                   escape(text));
  }

 private:
  double x_of(double x) const { return kLeft + (kWidth - kLeft - kRight) * x / x_most_; }
  double y_of(double y) const { return top_ + kPlot * (1 - y / y_most_); }

  std::string& out_;
  double top_, x_most_, y_most_;
};

std::vector<std::pair<double, std::string>> time_marks(double seconds) {
  std::vector<std::pair<double, std::string>> marks;
  for (int i = 0; i <= 5; ++i) {
    const double at = seconds * i / 5;
    marks.emplace_back(at, i == 0 ? "0" : format_duration(Duration::seconds(std::round(at))));
  }
  return marks;
}

std::vector<std::pair<double, std::string>> marks_of(double most) {
  std::vector<std::pair<double, std::string>> marks;
  for (int i = 0; i <= 4; ++i) marks.emplace_back(most * i / 4, format("{:g}", most * i / 4));
  return marks;
}

// Jobs by how many GPUs they asked for, in few classes.
std::string class_of(int64_t gpus) {
  if (gpus <= 1) return gpus == 0 ? "no GPU" : "1 GPU";
  if (gpus <= 4) return "2-4 GPUs";
  if (gpus <= 8) return "5-8 GPUs";
  return "more GPUs";
}

// The part of the jobs that had ended after x; x on a logarithmic axis from 1 s on.
void draw_completion(std::string& out, double top, const sched::Simulated& done) {
  std::map<std::string, std::vector<double>> took;
  double most = 10;
  for (const sched::JobOutcome& job : done.jobs) {
    if (job.finished_at.micros == 0) continue;
    const double seconds = std::max(1.0, (job.finished_at - job.queued_at).seconds());
    took[class_of(job.gpus)].push_back(seconds);
    most = std::max(most, seconds);
  }
  Plot plot(out, top, std::log10(most), 100);
  std::vector<std::pair<double, std::string>> marks;
  for (const double at : {1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86'400.0, 864'000.0})
    if (at <= most) marks.emplace_back(std::log10(at), format_duration(Duration::seconds(at)));
  plot.frame("Jobs that had ended so long after they came, %", marks, marks_of(100));
  size_t row = 0;
  for (auto& [name, values] : took) {
    std::sort(values.begin(), values.end());
    std::vector<std::pair<double, double>> points;
    const size_t every = std::max<size_t>(1, values.size() / 500);
    for (size_t i = 0; i < values.size(); i += every)
      points.emplace_back(std::log10(values[i]),
                          100.0 * static_cast<double>(i + 1) / static_cast<double>(values.size()));
    points.emplace_back(std::log10(most), 100);
    const char* colour = kColours[row % kColours.size()];
    plot.steps(points, colour);
    plot.word(row++, format("{} ({})", name, plural(values.size(), "job")), colour);
  }
}

}  // namespace

std::string draw(const sched::Simulated& done, double gpus, const std::string& title) {
  const double seconds = (done.last - done.first).seconds();
  std::vector<std::pair<double, double>> used, waiting;
  double most_waiting = 4;
  for (const sched::Sample& sample : done.samples) {
    const double at = std::min(seconds, (sample.at - done.first).seconds());
    used.emplace_back(at, sample.gpus);
    waiting.emplace_back(at, static_cast<double>(sample.waiting));
    most_waiting = std::max(most_waiting, static_cast<double>(sample.waiting));
  }
  const double height = kTop + 3 * (kPlot + kGap);
  std::string out = format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">)"
      R"(<style>text{{font:12px sans-serif;fill:#333}}.t{{font-weight:bold}})"
      R"(.m{{text-anchor:middle}}.e{{text-anchor:end}}.g{{stroke:#ddd}}</style>)"
      R"(<rect width="100%" height="100%" fill="#fff"/><text x="{2}" y="20">{3}</text>)",
      kWidth, height, kLeft, escape(title));
  out += "\n";
  const double gpus_axis = std::max(1.0, gpus);
  Plot gpu_plot(out, kTop, seconds, gpus_axis);
  gpu_plot.frame("GPUs in use", time_marks(seconds), marks_of(gpus_axis));
  gpu_plot.steps(used, kColours[0]);
  const double axis = round_up(most_waiting);
  Plot wait_plot(out, kTop + kPlot + kGap, seconds, axis);
  wait_plot.frame("Jobs that wait", time_marks(seconds), marks_of(axis));
  wait_plot.steps(waiting, kColours[1]);
  draw_completion(out, kTop + 2 * (kPlot + kGap), done);
  return out + "</svg>\n";
}

}  // namespace hearth::app
