#include "base/id.h"
#include "control/notify/notify.h"
#include "control/notify/payload.h"
#include "db/tables.h"

namespace hearth::control {

Result<void> queue_deliveries(db::Session& session, const Job& job, const Event& event,
                              Clock& clock, Random& random) {
  for (const hearth::Notify& notify : job.spec.notify) {
    if (std::find(notify.when.begin(), notify.when.end(), job.state) == notify.when.end()) continue;
    WebhookBody body;
    body.type = "job." + std::string(word(job.state));
    body.timestamp = event.time;
    body.data = {job.id,      job.name,       job.project,     job.owner,
                 job.run_id,  job.state,      job.spec.labels, job.attempts,
                 job.failure, job.created_at, job.started_at,  job.finished_at};
    Delivery delivery;
    delivery.id = new_id(clock, random);
    delivery.project = job.project;
    delivery.job_id = job.id;
    delivery.url = notify.webhook;
    delivery.secret = notify.secret;
    delivery.event_kind = body.type;
    delivery.body.text = to_json(body);
    delivery.created_at = delivery.next_try_at = clock.now();
    TRY(db::Table<Delivery>::insert(session, delivery));
  }
  return {};
}

}  // namespace hearth::control
