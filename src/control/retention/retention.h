// What may go, goes: objects that nothing pins (in two steps), old answers to Idempotency-Keys,
// spent sign-in codes, expired tokens, logs and checkpoints past their rule, abandoned uploads.
#pragma once

#include <memory>

#include "control/context.h"

namespace hearth::control {

struct RetentionOptions {
  Duration period = Duration::seconds(600);
  Duration object_grace = Duration::seconds(3600);  // unpinned for at least this long
  Duration replay_life = Duration::seconds(86400);
  Duration event_life = Duration::seconds(90 * 86400.0);
  Duration log_life{0};  // 0: kept for ever
};

class Retention {
 public:
  Retention(Context context, RetentionOptions options);
  ~Retention();
  void start();
  void stop();
  Result<void> sweep();  // once, now
  // While one is held nothing is collected (backup).
  class Hold {
   public:
    explicit Hold(Retention& retention);
    ~Hold();

   private:
    Retention& retention_;
  };

 private:
  friend class Hold;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
