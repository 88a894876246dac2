// Webhooks: rows of the outbox, sent, signed and tried again (Standard Webhooks).
#pragma once

#include <memory>
#include <string>

#include "control/context.h"
#include "domain/event.h"
#include "domain/job.h"

namespace hearth::control {

class Access;

// Writes a delivery for each entry of the job's `notify` that asks for this state; to be called in
// the transaction that makes the change.
Result<void> queue_deliveries(db::Session& session, const Job& job, const Event& event,
                              Clock& clock, Random& random);

struct NotifyOptions {
  bool enabled = true;
  bool allow_local = false;  // loopback, link-local and ourselves
};

class Notify {
 public:
  Notify(Context context, Access& access, NotifyOptions options);
  ~Notify();
  void start();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
