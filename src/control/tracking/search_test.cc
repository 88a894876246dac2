// Which runs a search finds and in which order, what it says of keys and groups.
#include <cmath>
#include <limits>
#include <thread>

#include "base/log.h"
#include "control/ingest/metric_store.h"
#include "control/tracking/blocks.h"
#include "control/tracking/run_match.h"
#include "control/tracking/tracking_world_test.h"
#include "track/metric_column.h"

namespace hearth::control {
namespace {

using Strings = std::vector<std::string>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Comparison compare(Side side, const std::string& key, Compare op, const std::string& text) {
  return {.column = {side, key, Which::last}, .op = op, .text = text};
}
Comparison compare(Side side, const std::string& key, Compare op, double number) {
  return {.column = {side, key, Which::last}, .op = op, .number = number};
}
Order by(Side side, const std::string& key, bool descending = false, Which which = Which::last) {
  return {{side, key, which}, descending};
}

TEST(LikeTest, KnowsItsWildcards) {
  struct Case {
    std::string_view text, pattern;
    bool like, ilike;
  };
  for (const Case& c : {Case{"resnet-50", "resnet%", true, true},
                        {"resnet-50", "RES%50", false, true},
                        {"abc", "a_c", true, true},
                        {"abc", "a_", false, false},
                        {"", "%", true, true},
                        {"abcabc", "%bc", true, true},
                        {"a%c", "a%c", true, true},
                        {"\xc3\xa4x", "_x", true, true},
                        {"aaab", "%a%ab", true, true},
                        {"a\xc3\xa9z", "a_z", true, true},  // one character of two bytes
                        {"a\xc3\xa9", "%__", true, true},
                        {"\xc3\xa9", "%__", false, false},
                        {"aXbXc", "a%X%c", true, true},
                        {"", "_", false, false},
                        {"abcd", "abc", false, false},
                        {"abc", "a.c", false, false},
                        {"abc", "", false, false}}) {
    EXPECT_EQ(like(c.text, c.pattern, true), c.like) << c.text << " " << c.pattern;
    EXPECT_EQ(like(c.text, c.pattern, false), c.ilike) << c.text << " " << c.pattern;
  }
}

class SearchTest : public TrackingTest {
 protected:
  // one, two, three: loss 1, 2, 3; four has NaN, five has none.
  SearchTest() {
    e = experiment("search");
    for (const char* name : {"one", "two", "three", "four", "five"})
      ids.push_back(add_run(e, name, {{"lr", std::string("0.") + name}, {"opt", "Adam"}},
                            {{"team", name == std::string("one") ? "vision" : "speech"}}));
    for (int i = 0; i < 3; ++i) log(ids[static_cast<size_t>(i)], {metric("loss", i + 1.0, 1)});
    log(ids[3], {metric("loss", kNan, 1)});
  }
  Strings found(std::vector<Comparison> filter) { return names({.filter = std::move(filter)}); }
  Strings ordered(std::vector<Order> order_by) { return names({.order_by = std::move(order_by)}); }

  std::string e;
  Strings ids;
};

TEST_F(SearchTest, ComparesMetricsParamsTagsAttributes) {
  const Strings newest_first = {"five", "four", "three", "two", "one"};
  EXPECT_EQ(names({}), newest_first);
  EXPECT_EQ(found({compare(Side::metric, "loss", Compare::less_equal, 2.0)}),
            (Strings{"two", "one"}));
  // NaN differs from every number; who has no value never matches.
  EXPECT_EQ(found({compare(Side::metric, "loss", Compare::not_equal, 2.0)}),
            (Strings{"four", "three", "one"}));
  EXPECT_TRUE(found({compare(Side::metric, "none", Compare::not_equal, 2.0)}).empty());
  EXPECT_EQ(found({compare(Side::param, "opt", Compare::ilike, "ad%"),
                   compare(Side::tag, "team", Compare::equal, "vision")}),
            (Strings{"one"}));
  EXPECT_TRUE(found({compare(Side::param, "opt", Compare::like, "ad%")}).empty());
  EXPECT_TRUE(found({compare(Side::tag, "none", Compare::not_equal, "x")}).empty());
  Comparison in = compare(Side::attribute, "run_id", Compare::in, "");
  in.list = {ids[0], ids[3], "unknown"};
  EXPECT_EQ(found({in}), (Strings{"four", "one"}));
  in.op = Compare::not_in;
  EXPECT_EQ(found({in}), (Strings{"five", "three", "two"}));
  EXPECT_EQ(found({compare(Side::attribute, "status", Compare::equal, "RUNNING")}).size(), 5U);
  EXPECT_EQ(found({compare(Side::attribute, "artifact_uri", Compare::like, "%" + ids[1] + "%")}),
            (Strings{"two"}));
  const double start = std::floor(
      static_cast<double>(need(tracking.get_run(world.member, ids[2])).run.started_at.micros) /
      1000);
  EXPECT_EQ(found({compare(Side::attribute, "start_time", Compare::greater, start)}),
            (Strings{"five", "four"}));
  EXPECT_TRUE(found({compare(Side::attribute, "end_time", Compare::greater, 0.0)}).empty());
  EXPECT_EQ(
      code_of(tracking.search_runs(
          world.member, {.filter = {compare(Side::attribute, "colour", Compare::equal, "")}})),
      Code::invalid);
  EXPECT_EQ(code_of(tracking.search_runs(
                world.member, {.filter = {compare(Side::metric, "loss", Compare::like, "1")}})),
            Code::invalid);
}

TEST_F(SearchTest, OurOwnLanguageAndDatasets) {
  need(tracking.log_inputs(
      world.member, ids[1],
      {{.name = "mnist", .digest = "d", .tags = {{"mlflow.data.context", "t"}}}}, {}));
  EXPECT_EQ(found({compare(Side::dataset, "name", Compare::equal, "mnist")}), (Strings{"two"}));
  EXPECT_EQ(found({compare(Side::dataset, "context", Compare::like, "_")}), (Strings{"two"}));
  EXPECT_TRUE(found({compare(Side::dataset, "digest", Compare::not_equal, "d")}).empty());
  RunSearch query;
  query.where = need(parse_filter("metrics.loss > 1 and not (params.lr = 0.three)"));
  EXPECT_EQ(names(query), (Strings{"two"}));
  query.where = need(parse_filter("name = one or tags.team = vision or metrics.loss.max >= 3"));
  EXPECT_EQ(names(query), (Strings{"three", "one"}));
}

TEST_F(SearchTest, NumbersThenNanThenMissing) {
  EXPECT_EQ(ordered({by(Side::metric, "loss")}), (Strings{"one", "two", "three", "four", "five"}));
  EXPECT_EQ(ordered({by(Side::metric, "loss", true)}),
            (Strings{"three", "two", "one", "four", "five"}));
  EXPECT_EQ(ordered({by(Side::tag, "team"), by(Side::metric, "loss", true)}),
            (Strings{"three", "two", "four", "five", "one"}));
  EXPECT_EQ(ordered({by(Side::attribute, "run_name")}),
            (Strings{"five", "four", "one", "three", "two"}));
  // Equal ones: the newest start first.
  EXPECT_EQ(ordered({by(Side::param, "opt")}), (Strings{"five", "four", "three", "two", "one"}));
  // The latest value is not the least one.
  log(ids[2], {metric("loss", 0.5, 2), metric("loss", 7, 3)});
  EXPECT_EQ(ordered({by(Side::metric, "loss", false, Which::min)}).front(), "three");
  EXPECT_EQ(ordered({by(Side::metric, "loss", true)}).front(), "three");
}

TEST_F(SearchTest, PagesGoOnWhereTheyWere) {
  for (const bool descending : {false, true})
    for (const int64_t limit : {1, 2, 3, 5}) {
      RunSearch query;
      query.order_by = {by(Side::metric, "loss", descending)};
      const Strings whole = names(query);
      query.limit = limit;
      Strings all;
      do {
        const RunPage page = need(tracking.search_runs(world.viewer, query));
        EXPECT_EQ(page.total, 5);
        for (const FoundRun& found : page.runs) all.push_back(found.run.name);
        query.cursor = page.next_cursor;
        // A run that comes meanwhile moves no other.
        if (all.size() == 1)
          log(add_run(experiment("x" + std::to_string(limit) + (descending ? "d" : "a")), "late"),
              {metric("loss", -1)});
        query.experiment_ids = {e};
      } while (!query.cursor.empty());
      EXPECT_EQ(all, whole) << limit;
      query.experiment_ids.clear();
      need(tracking.search_runs(world.member, {}));
      RunSearch late;
      late.filter = {compare(Side::attribute, "run_name", Compare::equal, "late")};
      for (const FoundRun& found : need(tracking.search_runs(world.member, late)).runs)
        need(tracking.delete_run(world.member, found.run.id));
    }
  RunSearch query;
  query.limit = 2;
  query.cursor = need(tracking.search_runs(world.member, query)).next_cursor;
  query.order_by = {by(Side::metric, "loss")};
  EXPECT_EQ(code_of(tracking.search_runs(world.member, query)), Code::invalid);
}

TEST_F(SearchTest, SnapshotsStayAsTheyAre) {
  RunSearch query;
  query.order_by = {by(Side::metric, "loss")};
  query.snapshot = "new";
  query.limit = 2;
  const RunPage first = need(tracking.search_runs(world.member, query));
  EXPECT_EQ(first.total, 5);
  add_run(e, "six");
  query.snapshot = first.snapshot;
  query.skip = 3;
  EXPECT_EQ(names(query), (Strings{"four", "five"}));
  query.skip = 100;
  EXPECT_TRUE(names(query).empty());
  EXPECT_EQ(code_of(tracking.search_runs(world.viewer, query)), Code::gone);
  world.clock.advance(Duration::seconds(601));
  EXPECT_EQ(code_of(tracking.search_runs(world.member, query)), Code::gone);
}

TEST_F(SearchTest, EachSeesItsOwn) {
  EXPECT_TRUE(need(tracking.search_runs(world.stranger, {})).runs.empty());
  EXPECT_TRUE(need(tracking.search_runs(world.stranger, {.experiment_ids = {e}})).runs.empty());
  need(tracking.delete_run(world.member, ids[0]));
  EXPECT_EQ(names({}).size(), 4U);
  RunSearch query;
  query.view = View::deleted;
  EXPECT_EQ(names(query), (Strings{"one"}));
  query.view = View::all;
  EXPECT_EQ(names(query).size(), 5U);
}

TEST_F(SearchTest, ALateIndexKnowsTheSame) {
  const auto all = [&](Tracking& from) {
    std::string text;
    RunSearch query;
    query.order_by = {by(Side::metric, "loss", true)};
    query.with_bounds = true;
    for (const FoundRun& found : need(from.search_runs(world.member, query)).runs)
      text += to_json(found.run) + "\n";
    return text;
  };
  EXPECT_EQ(names({}).size(), 5U);  // this one keeps up by itself from here
  for (int i = 0; i < 70; ++i) log(ids[1], {metric("loss", 100 - i, i + 2), metric("acc", i, i)});
  need(tracking.set_tag(world.member, ids[2], "team", "audio"));
  // Points of a shim come by the journal.
  world.write([&](db::Session& session) -> Result<void> {
    const std::string id = new_id();
    TRY(add_points(session, ids[0], {"task", 1, 0}, MetricKind::metric,
                   by_key({{"loss", {9, {9}, 44}}}), id));
    return db::note_run_change(session, ids[0], id);
  });
  // As after a crash between commit and index: a new process reads all from disk.
  Tracking fresh(world.context(), *world.access);
  EXPECT_EQ(all(tracking), all(fresh));
  need(tracking.tidy());  // merges
  Tracking third(world.context(), *world.access);
  EXPECT_EQ(all(tracking), all(third));
  EXPECT_EQ(ordered({by(Side::metric, "loss", true)}).front(), "one");
}

TEST_F(SearchTest, LittleMemoryGivesTheSameAnswers) {
  TrackingOptions options;
  options.most_index_bytes = 500;
  Tracking small(world.context(), *world.access, options);
  for (int i = 0; i < 5; ++i) log(ids[0], {metric("m" + std::to_string(i), i)});
  RunSearch query;
  query.order_by = {by(Side::metric, "m3"), by(Side::metric, "loss")};
  for (int round = 0; round < 3; ++round) {
    const auto one = small.search_runs(world.member, query);
    if (one.ok()) EXPECT_EQ(one->runs.front().run.metrics.size(), 6U);
    const auto page =
        need(small.search_runs(world.member, {.order_by = {by(Side::metric, "loss")}}));
    EXPECT_EQ(page.runs.front().run.name, "one");
  }
}

TEST_F(SearchTest, ColumnsOfBlocksSayTheSame) {
  const auto order = [&](const std::string& key) {
    Tracking fresh(world.context(), *world.access);
    Strings all;
    RunSearch query;
    query.order_by = {by(Side::metric, key, true)};
    for (const FoundRun& found : need(fresh.search_runs(world.member, query)).runs)
      all.push_back(found.run.name);
    return all;
  };
  const auto finish = [&](const std::string& run) {
    need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
    need(tracking.tidy());
  };
  for (const std::string& run : ids) finish(run);
  const Strings before = order("loss");
  need(seal_blocks(*world.database, 3));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_blocks"), 1);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM run_metrics WHERE block > 0"), 3);
  EXPECT_EQ(order("loss"), before);
  EXPECT_EQ(order("none"), (Strings{"five", "four", "three", "two", "one"}));
  // A run that gets points after all: they win, merged or not, sealed again or not.
  log(ids[0], {metric("loss", 50, 2)});
  EXPECT_EQ(order("loss").front(), "one");
  finish(ids[0]);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM run_metrics WHERE block > 0"), 2);
  EXPECT_EQ(order("loss").front(), "one");
  log(add_run(e, "six"), {metric("loss", 60, 1)});
  need(seal_blocks(*world.database, 2));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_blocks"), 2);
  EXPECT_EQ(order("loss"), (Strings{"six", "one", "three", "two", "four", "five"}));
  // Blocks that most have left give their room back.
  for (const std::string& run : {ids[1], ids[2]}) {
    log(run, {metric("loss", 0, 9)});
    finish(run);
  }
  need(drop_blocks(*world.database));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_blocks"), 1);
  EXPECT_EQ(order("loss").front(), "six");
  // That it is read from the block shows when it says something else; when it is damaged, the
  // summaries say it.
  const Strings right = order("loss");
  const auto replace = [&](const Bytes& body) {
    world.write([&](db::Session& session) -> Result<void> {
      TRY(session.execute("UPDATE metric_columns SET body = $1", {body}));
      return {};
    });
  };
  replace(track::encode_column(std::vector<track::ColumnValue>{{0, true, 1e9, 1e9, 1e9}}));
  EXPECT_NE(order("loss"), right);
  set_log_sink([](Level, std::string_view) {});
  replace(Bytes(9, std::byte{1}));
  EXPECT_EQ(order("loss"), right);
  set_log_sink({});
}

// The points of a run still say what its summary on a damaged page said.
TEST_F(SearchTest, ADamagedPageOfSummariesChangesNoSearch) {
  const RunSearch by_loss{.order_by = {by(Side::metric, "loss", true)}};
  const Strings before = names(by_loss);
  for (const std::string& run : ids)
    need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
  need(tracking.tidy());
  Bytes body;
  need(world.database->read([&](db::Session& session) {
    return session.query("SELECT body FROM run_metrics WHERE run_id = $1", {ids[1]},
                         [&](const db::Row& row) -> Result<void> {
                           body.assign(row.bytes(0).begin(), row.bytes(0).end());
                           return {};
                         });
  }));
  ASSERT_FALSE(body.empty());
  std::string told;
  set_log_sink([&](Level, std::string_view line) { told.append(line).append("\n"); });
  const auto database = reopen_flipped(as_text(body));
  const Context context{*database, *world.objects, world.signals, world.clock, system_random()};
  Access access(context, Bytes(32, std::byte{7}));
  Tracking again(context, access);
  Strings after;
  for (const FoundRun& found : need(again.search_runs(world.member, by_loss)).runs) {
    after.push_back(found.run.name);
    if (found.run.id == ids[1]) EXPECT_TRUE(found.run.metrics.contains("loss"));
  }
  set_log_sink({});
  EXPECT_EQ(after, before);
  EXPECT_NE(told.find(format("run {}: the summary of its metrics", ids[1])), std::string::npos)
      << told;
  EXPECT_NE(database->refusing(), "");
}

TEST_F(SearchTest, KeysAreCountedInBlocksToo) {
  log(ids[0], {metric("acc", 0.25, 1)});
  const auto told = [&](const KeyQuery& query, int64_t few_runs) {
    Tracking fresh(world.context(), *world.access, {.few_runs = few_runs});  // no row in memory
    for (const KeyInfo& info : need(fresh.keys(world.member, query)).keys)
      if (info.key == "loss") return format("{} {} {}", info.runs, *info.min, *info.max);
    return std::string("none");
  };
  const auto loss = [&](const KeyQuery& query) {
    const std::string by_columns = told(query, -1);
    EXPECT_EQ(told(query, 100), by_columns);  // by rows
    return by_columns;
  };
  const auto all = [&] { return loss({}); };
  EXPECT_EQ(all(), "4 1 3");
  for (const std::string& run : ids)
    need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
  need(tracking.tidy());
  need(seal_blocks(*world.database, 4));
  ASSERT_EQ(world.count("SELECT COUNT(*) FROM run_metrics WHERE block > 0"), 4);
  EXPECT_EQ(all(), "4 1 3");
  EXPECT_EQ(loss({.search = "OSS"}), "4 1 3");
  EXPECT_EQ(loss({.search = "acc"}), "none");
  EXPECT_EQ(loss({.runs = {.filter = {compare(Side::metric, "loss", Compare::less_equal, 2.0)}}}),
            "2 1 2");
  // Points after all: the run's own rows count in place of its block.
  log(ids[1], {metric("loss", -5, 9)});
  EXPECT_EQ(all(), "4 -5 3");
  const auto acc = need(tracking.keys(world.member, {.search = "acc"}));
  ASSERT_EQ(acc.keys.size(), 1U);
  EXPECT_EQ(acc.keys[0].runs, 1);
}

TEST_F(SearchTest, KeysAndGroups) {
  log(ids[0], {metric("acc/val", 0.5, 1)});
  const KeyPage keys = need(tracking.keys(world.member, {}));
  Strings list;
  for (const KeyInfo& key : keys.keys) list.push_back(key.key);
  EXPECT_EQ(list, (Strings{"acc/val", "loss", "lr", "opt", "mlflow.runName", "team"}));
  EXPECT_EQ(keys.keys[1].runs, 4);
  EXPECT_EQ(keys.keys[1].max, 3.0);
  EXPECT_EQ(need(tracking.keys(world.member, {.search = "VAL"})).keys.size(), 1U);
  KeyQuery paged{.limit = 4};
  paged.cursor = need(tracking.keys(world.member, paged)).next_cursor;
  EXPECT_EQ(need(tracking.keys(world.member, paged)).keys.size(), 2U);

  GroupQuery query;
  query.group_by = {{Side::tag, "team", Which::last}};
  query.aggregates = {{{Side::metric, "loss", Which::last}, Aggregate::mean},
                      {{Side::metric, "loss", Which::last}, Aggregate::std},
                      {{Side::metric, "loss", Which::last}, Aggregate::count}};
  const GroupPage groups = need(tracking.groups(world.member, query));
  ASSERT_EQ(groups.total, 2);
  EXPECT_EQ(groups.groups[0].values[0], "speech");
  EXPECT_EQ(groups.groups[0].runs, 4);
  EXPECT_EQ(groups.groups[0].aggregates[0], 2.5);
  EXPECT_NEAR(groups.groups[0].aggregates[1].value_or(0), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(groups.groups[0].aggregates[2], 2.0);
  EXPECT_EQ(groups.groups[1].run_ids, (Strings{ids[0]}));
}

TEST_F(SearchTest, Experiments) {
  for (const char* name : {"b-1", "b-2", "a-1"}) {
    world.clock.advance(Duration::seconds(1));
    experiment(name);
  }
  const auto list = [&](const ExperimentSearch& query) {
    Strings all;
    for (const Experiment& one : need(tracking.search_experiments(world.member, query)).experiments)
      all.push_back(one.name);
    return all;
  };
  EXPECT_EQ(list({}), (Strings{"a-1", "b-2", "b-1", "search", "Default"}));
  EXPECT_EQ(list({.filter = {compare(Side::attribute, "name", Compare::like, "b-%")},
                  .order_by = {by(Side::attribute, "name")}}),
            (Strings{"b-1", "b-2"}));
  ExperimentSearch paged{.limit = 2};
  paged.cursor = need(tracking.search_experiments(world.member, paged)).next_cursor;
  EXPECT_EQ(list(paged), (Strings{"b-1", "search"}));
  EXPECT_EQ(code_of(tracking.search_experiments(
                world.member, {.filter = {compare(Side::metric, "x", Compare::equal, 1.0)}})),
            Code::invalid);
}

// Writers and searchers at once; what was acknowledged is there at the end, and the thread
// sanitizer looks on.
TEST_F(SearchTest, ManyThreads) {
  constexpr int kThreads = 6, kBatches = 40;
  need(tracking.start());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const std::string run =
          need(tracking.create_run(world.member,
                                   {.experiment_id = e, .name = "thread" + std::to_string(t)}))
              .run.id;
      for (int i = 0; i < kBatches; ++i) {
        LogBatch batch{.metrics = {metric("loss", t * 1000 + i, i), metric("shared", i, i)}};
        if (i % 3 == 0) batch.tags = {{"step", std::to_string(i)}};
        if (i % 2 == 0) batch.durability = Durability::relaxed;
        need(tracking.log_batch(world.member, run, batch));
        if (i % 10 == t) {
          RunSearch query;
          query.order_by = {by(Side::metric, i % 20 == t ? "loss" : "shared", true)};
          EXPECT_GE(need(tracking.search_runs(world.member, query)).runs.size(), 5U);
        }
        if (i % 16 == t) need(tracking.tidy());
      }
    });
  for (std::thread& thread : threads) thread.join();
  need(tracking.flush());
  RunSearch query;
  query.order_by = {by(Side::metric, "loss", true)};
  query.limit = kThreads;
  Tracking fresh(world.context(), *world.access);
  for (Tracking* from : {&tracking, &fresh}) {
    const RunPage page = need(from->search_runs(world.member, query));
    for (int t = 0; t < kThreads; ++t) {
      const Run& run = page.runs[static_cast<size_t>(t)].run;
      EXPECT_EQ(run.name, "thread" + std::to_string(kThreads - 1 - t));
      EXPECT_EQ(run.metrics.at("loss").step, kBatches - 1);
      EXPECT_EQ(values(run.id, "loss").size(), static_cast<size_t>(kBatches));
    }
  }
  tracking.stop();
}

}  // namespace
}  // namespace hearth::control
