// A small world with a tracking service, for its tests.
#pragma once

#include <fstream>

#include "control/small_world_test.h"
#include "control/tracking/tracking.h"

namespace hearth::control {

class TrackingTest : public testing::Test {
 protected:
  using Run = hearth::Run;  // testing::Test has a private one

  static Code code_of(const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::internal : result.error().code;
  }
  std::string experiment(const std::string& name) {
    return need(tracking.create_experiment(world.member, {.name = name})).id;
  }
  std::string add_run(const std::string& experiment_id, const std::string& name = "",
                      Texts params = {}, Texts tags = {}) {
    world.clock.advance(Duration::millis(10));
    return need(tracking.create_run(world.member, {.experiment_id = experiment_id,
                                                   .name = name,
                                                   .params = std::move(params),
                                                   .tags = std::move(tags)}))
        .run.id;
  }
  static LoggedMetric metric(const std::string& key, double value, int64_t step = 0,
                             int64_t millis = 1000) {
    return {.key = key, .value = value, .time = {millis * 1000}, .step = step};
  }
  void log(const std::string& run, std::vector<LoggedMetric> metrics) {
    need(tracking.log_batch(world.member, run, {.metrics = std::move(metrics)}));
  }
  std::vector<double> values(const std::string& run, const std::string& key) {
    std::vector<double> all;
    for (const HistoryPoint& point :
         need(tracking.history(world.member, {.run_id = run, .key = key})).points)
      all.push_back(point.value);
    return all;
  }
  // The names of the runs that a search finds, in order.
  std::vector<std::string> names(const RunSearch& query) {
    std::vector<std::string> all;
    for (const FoundRun& found : need(tracking.search_runs(world.member, query)).runs)
      all.push_back(found.run.name);
    return all;
  }

  // The database as it is opened again after a bit has flipped on the disk where `bytes` lie; the
  // world's own is closed.
  std::unique_ptr<db::Database> reopen_flipped(std::string_view bytes) {
    const std::string path = world.folder.file("hearth.db");
    const auto open = [&] { return need(db::open_sqlite({.path = path, .clock = &world.clock})); };
    const std::string wanted(bytes);  // they may lie in what is closed now
    world.database.reset();
    open().reset();  // what lay in the log goes into the file
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const size_t at = content.find(wanted);
    EXPECT_NE(at, std::string::npos);
    if (at == std::string::npos) return open();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(content[at] ^ 4));
    file.close();
    EXPECT_TRUE(file.good());
    return open();
  }

  SmallWorld world;
  Tracking tracking{world.context(), *world.access};
};

}  // namespace hearth::control
