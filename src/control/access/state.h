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
  static constexpr int kMostCodeFailures = 10;  // per address and minute

  struct Cached {
    Identity who;
    Time expires;
    uint64_t generation = 0;
  };

  // Runs a change of rights and empties the cache after it.
  Result<void> change(const db::Work& work) {
    auto done = context.database.write(work);
    ++generation;
    if (done.ok()) context.signals.notify(kEventsTopic);
    return done;
  }

  // The role of a user in a project: the greatest of its own and of those above it.
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
