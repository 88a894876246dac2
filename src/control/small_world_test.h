// A server's insides for the tests of one service: database, objects, rights and three people.
#pragma once

#include <atomic>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/id.h"
#include "control/access/access.h"
#include "control/context.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/test_folder.h"
#include "db/tables.h"
#include "objects/directory/directory.h"

namespace hearth::control {

template <typename T>
T need(Result<T> result, const char* what = "") {
  if (!result.ok()) {
    ADD_FAILURE() << what << result.error().text();
    panic(result.error().text(), __FILE__, __LINE__);
  }
  return std::move(result).value();
}
inline void need(const Result<void>& result) {
  if (!result.ok()) panic(result.error().text(), __FILE__, __LINE__);
}

// Set by hand, read by any thread.
class TestClock : public Clock {
 public:
  Time now() override { return {micros_}; }
  Time steady() override { return {micros_}; }
  void advance(Duration d) { micros_ += d.micros; }

 private:
  std::atomic<int64_t> micros_{1'700'000'000'000'000};
};

class SmallWorld {
 public:
  SmallWorld()
      : database(need(db::open_sqlite({.path = folder.file("hearth.db"), .clock = &clock}))),
        objects(need(objects::DirectoryObjects::open(folder.file("objects")))) {
    need(database->migrate());
    access = std::make_unique<Access>(context(), Bytes(32, std::byte{7}));
    admin = identity(need(access->bootstrap("root")).value());
    other_project = need(access->add_project(admin, {.name = "other"}));
    member = person("ann", "default", Grade::member);
    viewer = person("vic", "default", Grade::viewer);
    stranger = person("sam", "other", Grade::member);
  }
  Context context() { return {*database, *objects, signals, clock, system_random()}; }

  Identity identity(const NewToken& token) {
    return need(access->authenticate(token.text, "127.0.0.1", "request"));
  }
  Identity person(const std::string& name, const std::string& project, Grade role) {
    need(access->add_user(admin, {.name = name}, project, role));
    Identity who;
    who.user = name;
    who.token_id = "token-" + name;
    return who;
  }
  // As a job's or a task's token would be.
  static Identity job_identity(const Run& run, TokenKind kind) {
    Identity who;
    who.kind = kind;
    who.project = run.project;
    who.most = Grade::member;
    who.job_id = run.job_id;
    who.token_id = "token-of-" + run.job_id;
    return who;
  }
  Run add_run(const std::string& name, const std::string& project = "default") {
    Run run;
    run.id = new_id(clock, system_random());
    run.job_id = new_id(clock, system_random());
    run.name = name;
    run.project = project;
    run.created_at = clock.now();
    clock.advance(Duration::millis(10));
    write([&](db::Session& session) { return db::Table<Run>::insert(session, run); });
    return run;
  }
  void write(const db::Work& work) { need(database->write(work)); }
  int64_t count(const std::string& sql) {
    int64_t n = 0;
    need(database->read([&](db::Session& session) {
      return session.query(sql, {}, [&](const db::Row& row) -> Result<void> {
        n = row.integer(0);
        return {};
      });
    }));
    return n;
  }
  std::string last_event() {
    std::string kind;
    need(database->read([&](db::Session& session) {
      return session.query("SELECT kind FROM events ORDER BY seq DESC LIMIT 1", {},
                           [&](const db::Row& row) -> Result<void> {
                             kind = row.text(0);
                             return {};
                           });
    }));
    return kind;
  }

  db::TestFolder folder;
  TestClock clock;
  Signals signals;
  std::unique_ptr<db::Database> database;
  std::unique_ptr<objects::Objects> objects;
  std::unique_ptr<Access> access;
  Project other_project;
  Identity admin, member, viewer, stranger;
};

}  // namespace hearth::control
