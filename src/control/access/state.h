// What the parts of Access share.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "control/access/access.h"
#include "control/emit.h"

namespace hearth::control {

struct Access::State {
  State(Context c, Bytes k) : context(c), key(std::move(k)) {}

  // Named bounds.
  static constexpr size_t kMostCached = 4096;
  static constexpr Duration kCacheLife = Duration::seconds(30);
  static constexpr Duration kSessionLife = Duration::seconds(30 * 86400.0);
  static constexpr int kMostCodeFailures = 10;     // per address and minute
  static constexpr int kMostServerFailures = 300;  // from all addresses together, per minute
  static constexpr Duration kMostCodeLife = Duration::seconds(72 * 3600.0);
  // A shim drains its spool within this time after its task's end, or not at all.
  static constexpr Duration kTaskTokenLife = Duration::seconds(7 * 86400.0);

  struct Cached {
    Identity who;
    Time expires;
    uint64_t generation = 0;
  };

  // Runs a change of rights and empties the cache after its commit. What is refused empties
  // nothing: strangers cannot make the cache useless.
  Result<void> change(const db::Work& work) {
    TRY(context.database.write(work));
    ++generation;
    context.signals.notify(kEventsTopic);
    return {};
  }

  // The role of a user in a project: the greatest of its own and of those above it. An admin has
  // all, by a narrowed token too, which then takes its part away.
  Result<Grade> grade(db::Session& session, const std::string& user, const std::string& project);

  Context context;
  const Bytes key;
  std::string server_id;
  std::atomic<uint64_t> generation{1};
  std::mutex mutex;                               // guards the rest
  std::unordered_map<std::string, Cached> cache;  // by token digest
  struct Failures {
    int count = 0;
    Time since;
  };
  std::unordered_map<std::string, Failures> code_failures;  // by address
  Failures server_failures;
  // Counts from zero again every minute; true when `most` is reached.
  static bool too_many(Failures& failures, Time now, int most) {
    if ((now - failures.since).seconds() > 60) failures = {0, now};
    return failures.count >= most;
  }
  struct CachedGrade {
    Grade grade;
    Time expires;
    uint64_t generation = 0;
  };
  std::unordered_map<std::string, CachedGrade> grades;  // by user + LF + project
};

// A new token row of this kind and its text.
NewToken make_token(Context& context, TokenKind kind, const std::string& name);

}  // namespace hearth::control
