// Which metric keys runs have, by the counts of blocks, their columns and the runs' own rows.
#include <limits>

#include "base/clock.h"
#include "base/log.h"
#include "control/tracking/blocks.h"
#include "control/tracking/tracking_world_test.h"
#include "track/metric_uses.h"

namespace hearth::control {
namespace {

using Strings = std::vector<std::string>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using RunKeysTest = TrackingTest;

TEST_F(RunKeysTest, BlocksSayWhichKeysTheirRunsHave) {
  const std::string e = experiment("search");
  for (const double value : {1.0, 2.0, 3.0, kNan}) {
    const std::string run = add_run(e, format("{}", value));
    log(run, {metric("loss", value, 1)});
    need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
  }
  need(tracking.tidy());
  need(seal_blocks(*world.database, 4));
  const auto loss = [&] {
    Tracking fresh(world.context(), *world.access, {.few_runs = -1});
    const auto found = need(fresh.keys(world.member, {.search = "loss"})).keys;
    return found.empty() ? "none" : format("{} {} {}", found[0].runs, *found[0].min, *found[0].max);
  };
  const auto change = [&](std::string_view sql, std::initializer_list<db::Value> values) {
    world.write([&](db::Session& session) -> Result<void> {
      TRY(session.execute(sql, values));
      return {};
    });
  };
  change("UPDATE metric_uses SET body = $1", {track::encode_uses({{"loss", {4, 7, 8}}})});
  EXPECT_EQ(loss(), "4 7 8");  // it was read there
  set_log_sink([](Level, std::string_view) {});
  change("UPDATE metric_uses SET body = $1", {Bytes(9, std::byte{1})});
  EXPECT_EQ(loss(), "4 1 3");  // by the columns
  set_log_sink({});
  // An older server's block is made anew.
  change("DELETE FROM metric_uses", {});
  EXPECT_EQ(loss(), "4 1 3");
  need(drop_blocks(*world.database));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_blocks"), 0);
  need(seal_blocks(*world.database, 4));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_uses"), 1);
  EXPECT_EQ(loss(), "4 1 3");
}

// Whatever is asked for, and whatever became of the runs since their blocks were made.
TEST_F(RunKeysTest, KeysByBlocksAndByRowsAgree) {
  Strings experiments, runs;
  for (int i = 0; i < 20; ++i) experiments.push_back(experiment(format("e{}", i)));
  SeededRandom source(7);
  const auto random = [&](uint64_t below) { return source.below(below); };
  for (int i = 0; i < 60; ++i) {
    // The first half in three experiments, the rest in all.
    runs.push_back(add_run(experiments[random(i < 30 ? 3 : 20)], format("r{}", i)));
    for (int m = 0; m < 6; ++m)
      if (random(2) == 0)
        log(runs.back(),
            {metric(format("m{}", m), random(9) == 0 ? kNan : double(random(100)), 1)});
    need(tracking.update_run(world.member, runs.back(), {.status = RunStatus::finished}));
    if (i % 25 == 24) need(tracking.tidy());
    if (i % 25 == 24) need(seal_blocks(*world.database, i < 30 ? 7 : 18));
  }
  const auto told = [&](const RunSearch& search, int64_t few_runs) {
    Tracking fresh(world.context(), *world.access, {.few_runs = few_runs});
    std::string text;
    for (const KeyInfo& info : need(fresh.keys(world.member, {.runs = search})).keys)
      if (info.side == Side::metric)
        text += format("{} {} {} {}\n", info.key, info.runs, info.min.value_or(-1),
                       info.max.value_or(-1));
    return text;
  };
  const Comparison low{
      .column = {Side::metric, "m1", Which::last}, .op = Compare::less_equal, .number = 50};
  const auto agree = [&] {
    std::vector<RunSearch> asked{{}, {.filter = {low}}};
    for (const std::string& one : experiments) asked.push_back({.experiment_ids = {one}});
    asked.push_back({.experiment_ids = {experiments[0], experiments[2], experiments[9]}});
    for (size_t i = 0; i < asked.size(); ++i)
      EXPECT_EQ(told(asked[i], -1), told(asked[i], 1000)) << i;
  };
  ASSERT_GE(world.count("SELECT COUNT(*) FROM metric_blocks"), 4);
  ASSERT_GE(world.count("SELECT COUNT(*) FROM metric_uses WHERE experiment_id <> ''"), 3);
  agree();
  for (size_t i = 0; i < runs.size(); i += 11) need(tracking.delete_run(world.member, runs[i]));
  agree();
  for (size_t i = 4; i < runs.size(); i += 13) log(runs[i], {metric("m2", -7, 5)});
  agree();
  need(tracking.tidy());
  need(seal_blocks(*world.database, 2));  // who left has a newer block
  agree();
}

}  // namespace
}  // namespace hearth::control
