#include "app/mlflow/target.h"

#include <algorithm>
#include <thread>

#include "base/format.h"
#include "base/units.h"

namespace hearth::app::mlflow {
namespace {

constexpr Duration kFirstPause = Duration::millis(100);
constexpr Duration kLongestPause = Duration::seconds(3);

void move_points(const ImportedSeries& from, size_t first, size_t count, ImportedSeries& to) {
  to.key = from.key;
  to.model_id = from.model_id;
  to.dataset_name = from.dataset_name;
  to.dataset_digest = from.dataset_digest;
  const auto part = [&](const auto& all, auto& some) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    some.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  part(from.steps, to.steps);
  part(from.times_ms, to.times_ms);
  part(from.values, to.values);
}

}  // namespace

bool Target::is_passing(const Error& error) {
  return error.code == Code::busy || error.code == Code::unavailable ||
         error.code == Code::timeout || error.code == Code::unreachable;
}

Result<void> Target::wait(Time since, int attempt) const {
  const int64_t longest =
      std::min(kLongestPause.micros, kFirstPause.micros << std::min(attempt, 8));
  if (attempt == 5)
    std::fprintf(stderr, "\nwaiting for the server, %s so far\n",
                 format_duration(system_clock().steady() - since).c_str());
  for (int64_t left = longest; left > 0; left -= kFirstPause.micros) {
    if (stopped()) return Error::of(Code::gone, "stopped");
    std::this_thread::sleep_for(kFirstPause.chrono());
  }
  return {};
}

Result<void> Target::send_points(const std::string& run_id,
                                 const std::vector<ImportedSeries>& series) {
  ImportedPoints batch{run_id, {}};
  size_t points = 0;
  const auto flush = [&]() -> Result<void> {
    if (points == 0) return {};
    const std::string body = to_json(batch);
    TRY(patiently([&] { return api_.send("POST", "/api/v1/imports/points", body); }));
    batch.series.clear();
    points = 0;
    return {};
  };
  for (const ImportedSeries& one : series)
    for (size_t at = 0; at < one.steps.size();) {
      const size_t count = std::min(one.steps.size() - at, kMostPoints - points);
      move_points(one, at, count, batch.series.emplace_back());
      points += count;
      at += count;
      if (points == kMostPoints) TRY(flush());
    }
  return flush();
}

Result<std::vector<ImportCounts>> Target::counts(const std::vector<std::string>& run_ids) {
  const std::string body = to_json(ImportedIds{run_ids});
  const std::string text =
      TRY(patiently([&] { return api_.send("POST", "/api/v1/imports/counts", body); }));
  const Node page = TRY(parse_json(text, client::Client::kMostAnswerBytes));
  std::vector<ImportCounts> all;
  if (const Node* items = page.find("items"))
    for (const Node& item : items->items) all.push_back(TRY(from_node<ImportCounts>(item)));
  return all;
}

Result<std::vector<Artifact>> Target::files(const std::string& holder) {
  return patiently([&] {
    return api_.list<Artifact>("/api/v1/imports/files/" + client::path_part(holder), {},
                               static_cast<size_t>(kMostHeldFiles));
  });
}

Result<void> Target::put_file(const std::string& place, const std::string& file) {
  std::string path = "/api/2.0/mlflow-artifacts/artifacts";
  for (const std::string_view part : split(place, '/')) path += "/" + client::path_part(part);
  return patiently([&] { return api_.put_file(path, file, keep_on_); });
}

}  // namespace hearth::app::mlflow
