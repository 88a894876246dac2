#include "base/format.h"
#include "control/ingest/metric_rows.h"

namespace hearth::control {

Result<std::optional<Pace>> pace_of(db::Session& session, const std::string& run_id,
                                    const std::string& task_id) {
  std::vector<std::string> newest;
  TRY(
      session.query("SELECT id FROM metric_batches WHERE run_id = $1 AND task_id = $2 AND kind IN "
                    "('metric', 'metric_pack') ORDER BY id DESC LIMIT 2",
                    {run_id, task_id}, [&](const db::Row& row) -> Result<void> {
                      newest.push_back(format("'{}'", row.text(0)));
                      return {};
                    }));
  if (newest.empty()) return std::optional<Pace>();
  std::optional<track::Point> first, last;
  std::vector<std::string> damaged;
  TRY(each_row(session, run_id, format("id IN ({})", join(newest, ", ")),
               [&](const MetricRow& row) {
                 return each_point(
                     row, [](std::string_view) { return true; },
                     [&](std::string_view, std::span<const track::Point> points) {
                       for (const track::Point& p : points) {
                         if (!first || p.step < first->step) first = p;
                         if (!last || p.step > last->step) last = p;
                       }
                     },
                     damaged);
               }));
  if (!last) return std::optional<Pace>();
  Pace pace{.step = last->step, .at = last->time, .steps_per_second = 0};
  const double seconds = static_cast<double>(last->time.micros - first->time.micros) / 1e6;
  if (seconds > 0)
    pace.steps_per_second =
        (static_cast<double>(last->step) - static_cast<double>(first->step)) / seconds;
  return std::optional(pace);
}

}  // namespace hearth::control
