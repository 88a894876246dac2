// Appending the event of a change in the transaction that makes it.
#pragma once

#include <string>

#include "control/context.h"
#include "db/tables.h"
#include "domain/identity.h"

namespace hearth::control {

// `changed`: the fields that changed as JSON object text, or "".
inline Result<Event> emit(db::Session& session, Clock& clock, const Actor& actor,
                          const std::string& project, const std::string& kind,
                          const std::string& id, int64_t version, std::string changed = "") {
  Event event;
  event.time = clock.now();
  event.actor = actor;
  event.project = project;
  event.kind = kind;
  event.id = id;
  event.version = version;
  event.changed.text = std::move(changed);
  event.seq = TRY(db::append_event(session, event));
  return event;
}

}  // namespace hearth::control
