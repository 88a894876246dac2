// Charts: series of many runs and keys, cut into columns whose edges never move.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "control/tracking/state.h"

namespace hearth::control {
namespace {

constexpr int64_t kMostColumns = 10'000;
constexpr size_t kMostChartPoints = 20'000'000;  // read for one answer

struct Raw {
  std::string run_id, key;
  std::vector<std::pair<int64_t, double>> points;  // x, value; in order of x
};

int64_t x_of(const MetricsQuery& query, const track::Point& point, Time start) {
  if (query.x == MetricsQuery::X::step) return point.step;
  if (query.x == MetricsQuery::X::time) return point.time.micros;
  return static_cast<int64_t>(static_cast<uint64_t>(point.time.micros) -
                              static_cast<uint64_t>(start.micros));
}

// The least power of two of which at most `columns` lie over [low, high].
int width_bits(int64_t low, int64_t high, int64_t columns) {
  int bits = 0;
  const auto edges = [&] {
    return static_cast<uint64_t>(high >> bits) - static_cast<uint64_t>(low >> bits);
  };
  while (bits < 62 && edges() >= static_cast<uint64_t>(columns)) ++bits;
  return bits;
}

MetricSeries cut(const Raw& raw, int bits) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  MetricSeries series{.run_id = raw.run_id, .key = raw.key};
  for (const auto& [x, value] : raw.points) {
    const int64_t edge = (x >> bits) << bits;
    if (series.x.empty() || series.x.back() != edge) {
      series.x.push_back(edge);
      series.last_x.push_back(x);
      series.count.push_back(0);
      series.not_finite.push_back(0);
      series.min.push_back(kNone);
      series.max.push_back(kNone);
      series.last.push_back(kNone);
    }
    ++series.count.back();
    series.last_x.back() = x;
    if (!std::isfinite(value)) {
      ++series.not_finite.back();
      continue;
    }
    if (!(series.min.back() <= value)) series.min.back() = value;
    if (!(series.max.back() >= value)) series.max.back() = value;
    series.last.back() = value;
  }
  return series;
}

Raw raw_of(const MetricsQuery& query, const std::string& run_id, const std::string& key,
           const Series& series, Time start) {
  Raw raw{run_id, key, {}};
  const track::Point* last = nullptr;
  for (const SourcedPoint& p : series.points) {
    // A value that was logged again for a model is one point of the chart.
    const bool again = last != nullptr && track::same(*last, p.point);
    last = &p.point;
    const int64_t x = x_of(query, p.point, start);
    if (again || (query.first && x < *query.first) || (query.last && x > *query.last)) continue;
    raw.points.emplace_back(x, p.point.value);
  }
  if (query.x != MetricsQuery::X::step)
    std::ranges::sort(raw.points, {}, &std::pair<int64_t, double>::first);
  return raw;
}

Result<Time> start_of(db::Session& session, const std::string& run_id) {
  Time start;
  TRY(session.query("SELECT started_at, created_at FROM runs WHERE id = $1", {run_id},
                    [&](const db::Row& row) -> Result<void> {
                      start.micros = row.integer(0) != 0 ? row.integer(0) : row.integer(1);
                      return {};
                    }));
  return start;
}

}  // namespace

Result<MetricsAnswer> Tracking::metrics(const Identity& who, const MetricsQuery& query) {
  if (query.run_ids.size() > kMostQueriedRuns)
    return Error::invalid(
        format("{} runs were asked for, {} are allowed", query.run_ids.size(), kMostQueriedRuns),
        "ask in several calls");
  if (query.columns < 1 || query.columns > kMostColumns)
    return Error::invalid(
        format("columns is {}, 1 to {} are allowed", query.columns, kMostColumns));
  MetricsAnswer answer;
  std::vector<Raw> all;
  size_t points = 0;
  for (const std::string& run_id : query.run_ids) {
    const RunFacts run = TRY(state_->run_for(who, run_id, Grade::viewer));
    TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
      const Time start = TRY(start_of(session, run.id));
      RunSeries read = TRY(read_run(session, run.id, query.keys));
      answer.damaged.insert(answer.damaged.end(), read.damaged.begin(), read.damaged.end());
      const auto add = [&](const std::string& key, const Series& series) {
        all.push_back(raw_of(query, run.id, key, series, start));
        points += all.back().points.size();
      };
      if (query.keys.empty())
        for (const auto& [key, series] : read.keys) add(key, series);
      for (const std::string& key : query.keys)
        if (const auto at = read.keys.find(key); at != read.keys.end()) add(key, at->second);
      return {};
    }));
    if (points > kMostChartPoints)
      return Error::of(Code::too_large,
                       format("these charts have more than {} points", kMostChartPoints),
                       "ask for fewer runs or keys");
  }
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const Raw& raw : all)
    if (!raw.points.empty()) {
      low = std::min(low, raw.points.front().first);
      high = std::max(high, raw.points.back().first);
    }
  state_->tell_damage(answer.damaged);
  const int bits = low > high ? 0 : width_bits(low, high, query.columns);
  answer.column_width = int64_t{1} << bits;
  for (const Raw& raw : all)
    if (!raw.points.empty()) answer.series.push_back(cut(raw, bits));
  return answer;
}

}  // namespace hearth::control
