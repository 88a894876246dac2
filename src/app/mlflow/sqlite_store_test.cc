#include <cfloat>
#include <cmath>

#include "app/mlflow/store_test.h"
#include "base/format.h"
#include "db/sqlite/connection.h"

namespace hearth::app::mlflow {
namespace {

class SqliteStoreTest : public StoreTest {
 protected:
  SqliteStoreTest() : health_(path("x.db")) {
    auto made = db::Connection::open(path("x.db"), db::Access::copy, "", health_);
    CHECK(made.ok());
    connection_ = std::move(*made);
  }
  void sql(const std::string& text) {
    const auto done = connection_->execute(text, std::span<const db::Value>());
    ASSERT_TRUE(done.ok()) << text << ": " << done.error().text();
  }
  // Tables as MLflow 1.0 had them, without what came later.
  void old_tables() {
    sql("CREATE TABLE experiments (experiment_id INTEGER, name VARCHAR, artifact_location VARCHAR, "
        "lifecycle_stage VARCHAR)");
    sql("CREATE TABLE runs (run_uuid VARCHAR, name VARCHAR, user_id VARCHAR, status VARCHAR, "
        "start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR, artifact_uri VARCHAR, "
        "experiment_id INTEGER)");
    sql("CREATE TABLE metrics (key VARCHAR, value FLOAT, timestamp BIGINT, run_uuid VARCHAR)");
    sql("CREATE TABLE params (key VARCHAR, value VARCHAR, run_uuid VARCHAR)");
    sql("CREATE TABLE tags (key VARCHAR, value VARCHAR, run_uuid VARCHAR)");
    sql("INSERT INTO experiments VALUES (0, 'Default', './mlruns/0', 'active')");
    sql("INSERT INTO runs VALUES ('r1', '', 'ann', 'FAILED', 1600000000000, NULL, 'deleted', "
        "'./mlruns/0/r1/artifacts', 0)");
    sql("INSERT INTO params VALUES ('lr', '0.1', 'r1')");
    sql("INSERT INTO tags VALUES ('mlflow.runName', 'first', 'r1')");
  }

  db::Health health_;
  std::unique_ptr<db::Connection> connection_;
};

TEST_F(SqliteStoreTest, ReadsOldTables) {
  old_tables();
  sql("INSERT INTO metrics VALUES ('loss', 0.5, 1600000000000, 'r1')");
  write("mlruns/0/r1/artifacts/file", "x");
  const auto store = need(open_store("sqlite:///" + path("x.db"), {}));
  const auto experiments = need(store->experiments());
  ASSERT_EQ(experiments.size(), 1u);
  EXPECT_EQ(need(store->logged_models(experiments[0])).size(), 0u);
  EXPECT_EQ(need(store->models()).size(), 0u);
  const StoreRun run = only_run(*store, experiments[0]);
  EXPECT_TRUE(run.record.deleted);
  EXPECT_EQ(run.record.status, RunStatus::failed);
  EXPECT_EQ(run.record.params.at("lr"), "0.1");
  EXPECT_EQ(run.record.tags.at("mlflow.runName"), "first");
  const auto series = need(store->series(run));
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].steps, std::vector<int64_t>{0});
  const auto list = need(store->files({Holder::Kind::run, "r1", "0", run.artifact_uri}));
  ASSERT_EQ(list.files.size(), 1u) << "a relative path starts beside the database";
}

TEST_F(SqliteStoreTest, ReadsNanAndWhatStandsForInfinity) {
  old_tables();
  sql("ALTER TABLE metrics ADD COLUMN step BIGINT DEFAULT 0");
  sql("ALTER TABLE metrics ADD COLUMN is_nan BOOLEAN DEFAULT 0");
  sql("INSERT INTO metrics VALUES ('odd', 0, 1, 'r1', 1, 1)");
  const auto done = connection_->execute("INSERT INTO metrics VALUES ('odd', $1, 1, 'r1', 2, 0)",
                                         {db::Value(-DBL_MAX)});
  ASSERT_TRUE(done.ok());
  const auto store = need(open_store(path("x.db"), {}));
  const auto series = need(store->series(only_run(*store, need(store->experiments()).at(0))));
  ASSERT_EQ(series.size(), 1u);
  EXPECT_TRUE(std::isnan(series[0].values[0]));
  EXPECT_EQ(series[0].values[1], -INFINITY);
}

TEST_F(SqliteStoreTest, RefusesWhatItDoesNotKnow) {
  write("text", "SQLite is what this is not");
  EXPECT_NE(open_store(path("text"), {}).error().detail.find("is no SQLite database"),
            std::string::npos);
  sql("CREATE TABLE other (x)");
  EXPECT_NE(open_store(path("x.db"), {}).error().detail.find("it has no table experiments"),
            std::string::npos);
  old_tables();
  sql("ALTER TABLE runs RENAME COLUMN status TO state");
  const Error unknown = open_store(path("x.db"), {}).error();
  EXPECT_NE(unknown.detail.find("the table runs has no column status"), std::string::npos);
  EXPECT_NE(unknown.mend.find("mlflow db upgrade"), std::string::npos);
}

TEST_F(SqliteStoreTest, NamesARunWhoseStatusIsUnknown) {
  old_tables();
  sql("UPDATE runs SET status = 'LOST'");
  const auto store = need(open_store(path("x.db"), {}));
  EXPECT_TRUE(store
                  ->each_run(need(store->experiments()).at(0),
                             [](StoreRun&&) -> Result<void> { return {}; })
                  .ok());
  EXPECT_NE(first_problem(*store).find("run r1: 'LOST' is no status"), std::string::npos);
}

}  // namespace
}  // namespace hearth::app::mlflow
