// Tables, lists and the small tables beside them, over SQLite.
#include "db/table.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/id.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/test_folder.h"
#include "db/tables.h"

namespace hearth::db {
namespace {

class TableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_sqlite({.path = folder_.file("h.db")});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    database_ = std::move(opened).value();
    must(database_->migrate());
  }
  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  Result<void> write(const Work& work) { return database_->write(work); }
  template <typename T>
  T read(const std::function<Result<T>(Session&)>& work) {
    T value{};
    must(database_->read([&](Session& session) -> Result<void> {
      value = TRY(work(session));
      return {};
    }));
    return value;
  }
  template <typename T>
  ListPage<T> list(const ListQuery& query) {
    return read<ListPage<T>>([&](Session& session) { return Table<T>::list(session, query); });
  }
  // All pages, one after the other.
  template <typename T>
  std::vector<T> list_all(ListQuery query, int* pages = nullptr) {
    std::vector<T> all;
    for (int i = 0; i < 10'000; ++i) {
      auto page = list<T>(query);
      for (T& item : page.items) all.push_back(std::move(item));
      if (pages != nullptr) ++*pages;
      query.cursor = page.next_cursor;
      if (query.cursor.empty()) return all;
    }
    ADD_FAILURE() << "the list has no end";
    return all;
  }

  const TestFolder folder_;
  std::unique_ptr<Database> database_;
};

Job sample_job(int64_t n) {
  Job job;
  job.id = format("01HZX{:021}", n);
  job.name = format("cnn-{}", n);
  job.number = n;
  job.project = n % 3 == 0 ? "vision" : "default";
  job.owner = "ann";
  job.state = n % 10 == 0 ? JobState::running : JobState::queued;
  job.source = "hearth: 1\nname: cnn\n";
  job.priority = n % 5;
  job.created_at = {1'700'000'000'000'000 + (n / 4) * 1'000'000};  // four at a time
  job.spec.name = "cnn";
  job.spec.params["lr"].value.text = format("{}", 0.001 * static_cast<double>(n % 100));
  return job;
}

TEST_F(TableTest, EveryTableTakesAndGivesItsNoun) {
  const auto round = [&]<typename T>(T object) {
    object.id = new_id();
    must(write([&](Session& session) { return Table<T>::insert(session, object); }));
    const auto found =
        read<std::optional<T>>([&](Session& session) { return Table<T>::get(session, object.id); });
    ASSERT_TRUE(found.has_value()) << type_of<T>().name;
    EXPECT_EQ(*found, object) << type_of<T>().name;
    must(write([&](Session& session) { return Table<T>::update(session, object); }));
    EXPECT_EQ(object.version, 1);
    must(write([&](Session& session) -> Result<void> {
      EXPECT_TRUE(TRY(Table<T>::remove(session, object.id)));
      EXPECT_FALSE(TRY(Table<T>::remove(session, object.id)));
      return {};
    }));
  };
  round(Project{.name = "default", .description = "d", .created_at = {5}});
  round(User{.name = "ann", .admin = true});
  round(Membership{.user = "ann", .project = "default", .role = Grade::member});
  round(Token{.name = "t", .kind = TokenKind::job, .hash = "sha256:x", .expires_at = {7}});
  round(Secret{.name = "KEY", .project = "default", .sealed = "AAAA", .updated_at = {9}});
  round(sample_job(7));
  round(Attempt{.job_id = "j", .number = 2});
  round(Task{.attempt_id = "a", .job_id = "j"});
  round(Experiment{.name = "e", .project = "p", .tags = {{"a", "b"}}});
  round(hearth::Run{
      .name = "r", .project = "p", .status = RunStatus::failed, .params = {{"x", "1"}}});
  round(Artifact{.run_id = "r", .path = "a/b", .digest = "sha256:1", .size_bytes = 3});
  round(Checkpoint{.job_id = "j", .manifest_digest = "sha256:2", .step = 4});
  round(Model{.name = "m", .project = "p"});
  round(ModelVersion{.model = "m", .project = "p", .number = 1});
  round(Dataset{.name = "d", .project = "p"});
  round(DatasetVersion{.dataset = "d", .project = "p", .number = 1});
  round(Delivery{.project = "p", .state = DeliveryState::failed, .next_try_at = {3}});
}

TEST_F(TableTest, AnUpdateOfAnOldVersionIsAConflict) {
  Job job = sample_job(1);
  must(write([&](Session& session) { return Table<Job>::insert(session, job); }));
  Job mine = job, theirs = job;
  theirs.priority = 90;
  must(write([&](Session& session) { return Table<Job>::update(session, theirs); }));
  EXPECT_EQ(theirs.version, 1);
  const auto late = write([&](Session& session) { return Table<Job>::update(session, mine); });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::conflict);
  EXPECT_EQ(mine.version, 0);
  const auto now = read<Job>([&](Session& s) { return Table<Job>::need(s, job.id); });
  EXPECT_EQ(now.priority, 90);
}

TEST_F(TableTest, SecretFieldsStandInColumnsAlone) {
  const Job job = sample_job(1);
  must(write([&](Session& session) { return Table<Job>::insert(session, job); }));
  const auto body =
      read<std::optional<std::string>>([&](Session& s) { return Table<Job>::body(s, job.id); });
  EXPECT_EQ(body->find("hearth: 1"), std::string::npos);
  EXPECT_EQ(read<Job>([&](Session& s) { return Table<Job>::need(s, job.id); }).source, job.source);
}

TEST_F(TableTest, AbsenceIsSaidByName) {
  const auto missing = database_->read([](Session& session) -> Result<void> {
    TRY(Table<Job>::need(session, "01NONE"));
    return {};
  });
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().detail, "Job '01NONE' does not exist");
}

class ListTest : public TableTest {
 protected:
  static constexpr int64_t kJobs = 1'500;
  void SetUp() override {
    TableTest::SetUp();
    must(write([](Session& session) -> Result<void> {
      for (int64_t n = 0; n < kJobs; ++n) TRY(Table<Job>::insert(session, sample_job(n)));
      return {};
    }));
  }
  static std::vector<int64_t> numbers(const std::vector<Job>& jobs) {
    std::vector<int64_t> all;
    for (const Job& job : jobs) all.push_back(job.number);
    return all;
  }
};

TEST_F(ListTest, PagesGiveEveryRowOnceInOrder) {
  for (const auto& order :
       std::vector<std::vector<OrderBy>>{{},
                                         {{"id", true}},
                                         {{"created_at", false}},
                                         {{"created_at", true}},
                                         {{"priority", true}, {"created_at", false}},
                                         {{"project", false}, {"number", true}}}) {
    ListQuery query{.order_by = order, .limit = 149};
    int pages = 0;
    const auto jobs = list_all<Job>(query, &pages);
    EXPECT_EQ(pages, 11);
    ASSERT_EQ(jobs.size(), static_cast<size_t>(kJobs));
    EXPECT_EQ(std::set<int64_t>(), [&] {
      std::set<int64_t> missing;
      for (int64_t n = 0; n < kJobs; ++n) missing.insert(n);
      for (const Job& job : jobs) missing.erase(job.number);
      return missing;
    }());
    const auto key = [&](const Job& job) {
      std::vector<Value> values;
      for (const OrderBy& by : order) {
        if (by.field == "id") values.emplace_back(job.id);
        if (by.field == "created_at") values.emplace_back(job.created_at.micros);
        if (by.field == "priority") values.emplace_back(job.priority);
        if (by.field == "number") values.emplace_back(job.number);
        if (by.field == "project") values.emplace_back(job.project);
      }
      return values;
    };
    for (size_t i = 1; i < jobs.size(); ++i) {
      const auto before = key(jobs[i - 1]), after = key(jobs[i]);
      size_t at = 0;
      while (at < before.size() && before[at] == after[at]) ++at;
      if (at == before.size()) continue;
      EXPECT_EQ(before[at] > after[at], order[at].descending) << i;
    }
  }
}

TEST_F(ListTest, FiltersAreTheFilterLanguages) {
  const auto found = [&](const std::string& text, std::string where = "",
                         std::vector<Value> values = {}) {
    auto filter = parse_filter(text);
    EXPECT_TRUE(filter.ok()) << text;
    ListQuery query{.where = std::move(where), .values = std::move(values), .limit = 1000};
    query.filter = *filter;
    std::set<int64_t> numbers;
    for (const Job& job : list_all<Job>(query)) numbers.insert(job.number);
    return numbers;
  };
  const auto expected = [&](const std::function<bool(int64_t)>& is) {
    std::set<int64_t> numbers;
    for (int64_t n = 0; n < kJobs; ++n)
      if (is(n)) numbers.insert(n);
    return numbers;
  };
  EXPECT_EQ(found("state = running"), expected([](int64_t n) { return n % 10 == 0; }));
  EXPECT_EQ(found("state = running and priority > 3 and project = default"),
            expected([](int64_t) { return false; }));
  EXPECT_EQ(found("state = running or priority >= 4", "project = $1", {"vision"}),
            expected([](int64_t n) { return n % 3 == 0 && (n % 10 == 0 || n % 5 == 4); }));
  EXPECT_EQ(found("priority in (1, 2.0) and not (state = queued)"),
            expected([](int64_t) { return false; }));
  EXPECT_EQ(found("number < 3.5"), expected([](int64_t n) { return n < 4; }));
  EXPECT_EQ(found("params.lr = 0.05"), expected([](int64_t n) { return n % 100 == 50; }));
  EXPECT_EQ(found("name in (cnn-7, cnn-12, none)"),
            expected([](int64_t n) { return n == 7 || n == 12; }));
  EXPECT_EQ(found("name ~ n-99 and number != 9912"), expected([](int64_t n) {
              return format("cnn-{}", n).find("n-99") != std::string::npos && n != 9912;
            }));
  EXPECT_EQ(found("nothing = 1"), expected([](int64_t) { return false; }));
}

TEST_F(ListTest, WhatIsComparedWithAColumnIsNotReadAtAll) {
  // A body that cannot be decoded shows which rows are read.
  must(write([](Session& session) -> Result<void> {
    TRY(session.execute("UPDATE jobs SET body = 'no JSON' WHERE state = 'queued'"));
    return {};
  }));
  ListQuery query{.limit = 1000};
  query.filter = *parse_filter("state = running and name ~ cnn");
  EXPECT_EQ(list_all<Job>(query).size(), 150U);
}

TEST_F(ListTest, ForeignCursorsAndOrdersAreRefused) {
  ListQuery query{.order_by = {{"created_at", true}}, .limit = 5};
  query.cursor = list<Job>(query).next_cursor;
  query.order_by = {{"created_at", false}};
  const auto code = [&] {
    const auto refused = database_->read([&](Session& session) -> Result<void> {
      TRY(Table<Job>::list(session, query));
      return {};
    });
    return refused.ok() ? Code::internal : refused.error().code;
  };
  EXPECT_EQ(code(), Code::invalid);
  for (const std::string cursor :
       {"!", "AAAA", "czE6", "czk5OTk5OTk5OTk5OTk5OTk5OTk5OTk6eA", "aQ"}) {
    query.cursor = cursor;
    EXPECT_EQ(code(), Code::invalid) << cursor;
  }
  query.cursor = "";
  query.order_by = {{"source; DROP TABLE jobs", false}};
  EXPECT_EQ(code(), Code::invalid);
}

TEST_F(ListTest, APageOfOneProjectByAgeReadsItsIndex) {
  must(database_->read([](Session& session) -> Result<void> {
    std::string plan;
    TRY(session.query(
        "EXPLAIN QUERY PLAN SELECT id, body FROM jobs WHERE (project = $1) AND "
        "(\"created_at\", \"id\") < ($2, $3) ORDER BY \"created_at\" DESC, \"id\" DESC",
        {"vision", int64_t{5}, "x"}, [&](const Row& row) -> Result<void> {
          plan += std::string(row.text(3)) + "\n";
          return {};
        }));
    EXPECT_NE(plan.find("USING INDEX jobs_by_project"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
    return {};
  }));
}

TEST_F(TableTest, EventsAreNumberedWithoutGapsInTheOrderOfCommits) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto done = write([&](Session& session) -> Result<void> {
          Event event{.project = "p", .kind = "job.submitted", .id = format("{}-{}", t, i)};
          TRY(append_event(session, event));
          if (i % 3 == 0) return Error::denied("not after all");
          return {};
        });
        EXPECT_EQ(done.ok(), i % 3 != 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto events =
      read<std::vector<Event>>([](Session& session) { return events_since(session, 0, 1000); });
  ASSERT_EQ(events.size(), 4U * 33);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].seq, static_cast<int64_t>(i) + 1);
  EXPECT_EQ(read<int64_t>([](Session& session) { return last_event_seq(session); }), 132);
  const auto rest =
      read<std::vector<Event>>([](Session& session) { return events_since(session, 130, 1); });
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].seq, 131);
  // Numbers are never given again, also when the events are forgotten.
  must(write([](Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM events"));
    EXPECT_EQ(TRY(append_event(session, Event{.kind = "x"})), 133);
    return {};
  }));
}

TEST_F(TableTest, SettingsReplaysAndPins) {
  must(write([](Session& session) -> Result<void> {
    EXPECT_FALSE(TRY(get_setting(session, "a")).has_value());
    TRY(set_setting(session, "a", "1"));
    TRY(set_setting(session, "a", "2"));
    EXPECT_EQ(TRY(get_setting(session, "a")), "2");

    EXPECT_FALSE(TRY(find_replay(session, "ann", "k")).has_value());
    TRY(save_replay(session, "ann", "k", {"f", 201, "{}"}, Time{1}));
    EXPECT_EQ(TRY(find_replay(session, "ann", "k"))->status, 201);
    EXPECT_FALSE(TRY(find_replay(session, "bob", "k")).has_value());

    TRY(pin(session, "sha256:1", "code:j", Time{1}));
    TRY(pin(session, "sha256:1", "code:j", Time{2}));
    TRY(pin(session, "sha256:1", "artifact:a", Time{1}));
    TRY(unpin(session, "code:j"));
    EXPECT_TRUE(TRY(pinned(session, "sha256:1")));
    TRY(unpin(session, "artifact:a"));
    EXPECT_FALSE(TRY(pinned(session, "sha256:1")));

    EXPECT_EQ(TRY(next_number(session, "cnn")), 1);
    EXPECT_EQ(TRY(next_number(session, "cnn")), 2);
    EXPECT_EQ(TRY(next_number(session, "rnn")), 1);
    return {};
  }));
}

}  // namespace
}  // namespace hearth::db
