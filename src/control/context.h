// What every service is given. Services never call each other: they meet in the database, its
// events and the signals that say "look again".
#pragma once

#include "base/clock.h"
#include "base/signals.h"
#include "db/database.h"
#include "objects/objects.h"

namespace hearth::control {

struct Context {
  db::Database& database;
  objects::Objects& objects;
  Signals& signals;
  Clock& clock;
  Random& random;
};

// Topics. Notified after the commit that makes the news visible.
constexpr std::string_view kEventsTopic = "events";  // any event
constexpr std::string_view kQueueTopic = "queue";    // the job loop has something to do
constexpr std::string_view kOutboxTopic = "outbox";  // a webhook waits
// A task has orders: a stop, live values.
inline std::string task_topic(const std::string& task_id) {
  return "task:" + task_id;
}
// New log lines of any task of a job.
inline std::string log_topic(const std::string& job_id) {
  return "log:" + job_id;
}
// A job's state.
inline std::string job_topic(const std::string& job_id) {
  return "job:" + job_id;
}
// A run's metrics and records.
inline std::string run_topic(const std::string& run_id) {
  return "run:" + run_id;
}

}  // namespace hearth::control
