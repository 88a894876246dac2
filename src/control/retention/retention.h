// What may go, goes: objects that nothing pins (in two steps), old answers to Idempotency-Keys,
// spent sign-in codes, expired tokens, abandoned uploads, events, logs and checkpoints past their
// rule.
//
// An object goes in two steps: a commit marks it `dying` when no pin keeps it; once it has been so
// for the grace time, and still nothing pins it, its bytes and the mark go. db::pin() takes the
// mark away, and the removal stands in a transaction, so a pin that is committed finds the object
// or finds it gone, never about to go. Hence: pin first, then ask whether it is there.
#pragma once

#include <memory>

#include "control/context.h"
#include "control/gate.h"

namespace hearth::control {

struct RetentionOptions {
  Duration period = Duration::seconds(600);
  Duration object_grace = Duration::seconds(3600);  // unpinned for at least this long
  Duration upload_life = Duration::seconds(3600);   // of a pin that an upload or a question made
  Duration abandoned_upload = Duration::seconds(86400);  // begun and not gone on with
  Duration replay_life = Duration::seconds(86400);
  Duration token_life = Duration::seconds(7 * 86400.0);  // kept after expiry or revocation
  Duration event_life = Duration::seconds(90 * 86400.0);
  Duration log_life{0};  // 0: kept for ever
};

// Holding it (CollectionGate::Hold) keeps objects from being removed: a backup does.
class Retention : public CollectionGate {
 public:
  // Rows and objects per transaction, and transactions of one kind per sweep: the rest waits for
  // the next, so that a sweep never holds up writers for long.
  static constexpr int64_t kMostRows = 500;
  static constexpr int64_t kMostObjects = 16;
  static constexpr int kMostRounds = 200;

  Retention(Context context, RetentionOptions options);
  ~Retention();
  void start();
  void stop();
  Result<void> sweep();  // once, now

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
