#include <algorithm>

#include "base/format.h"
#include "control/ingest/metric_rows.h"

namespace hearth::control {
namespace {

struct Stretch {
  track::Point first, last;  // by step
};

Pace pace_over(const Stretch& stretch) {
  Pace pace{.step = stretch.last.step, .at = stretch.last.time};
  const auto seconds =
      static_cast<double>(stretch.last.time.micros - stretch.first.time.micros) / 1e6;
  const auto steps =
      static_cast<double>(stretch.last.step) - static_cast<double>(stretch.first.step);
  if (seconds > 0) pace.steps_per_second = steps / seconds;
  return pace;
}

}  // namespace

Result<std::optional<Pace>> pace_of(db::Session& session, const std::string& run_id,
                                    int64_t attempt, int64_t rank) {
  // Rows that were merged name no task any more.
  std::vector<std::string> newest;
  TRY(session.query(
      "SELECT id FROM metric_batches WHERE run_id = $1 AND attempt = $2 AND rank = $3 "
      "AND kind IN ('metric', 'metric_pack') ORDER BY id DESC LIMIT 2",
      {run_id, attempt, rank}, [&](const db::Row& row) -> Result<void> {
        newest.push_back(format("'{}'", row.text(0)));
        return {};
      }));
  if (newest.empty()) return std::optional<Pace>();
  std::map<std::string, Stretch, std::less<>> keys;
  std::vector<std::string> damaged;
  TRY(each_row(session, run_id, format("id IN ({})", join(newest, ", ")),
               [&](const MetricRow& row) {
                 return each_point(
                     row, [](std::string_view) { return true; },
                     [&](std::string_view key, std::span<const track::Point> points) {
                       if (points.empty()) return;
                       auto at = keys.find(key);
                       if (at == keys.end())
                         at = keys.emplace(key, Stretch{points[0], points[0]}).first;
                       for (const track::Point& p : points) {
                         if (p.step < at->second.first.step) at->second.first = p;
                         if (p.step > at->second.last.step) at->second.last = p;
                       }
                     },
                     damaged);
               }));
  if (keys.empty()) return std::optional<Pace>();
  const auto furthest =
      std::ranges::max_element(keys, {}, [](const auto& entry) { return entry.second.last.step; });
  return std::optional(pace_over(furthest->second));
}

}  // namespace hearth::control
