// Who did what: events that have happened, the newest first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/context.h"
#include "domain/event.h"
#include "domain/identity.h"

namespace hearth::control {

class Access;

// What is empty is not asked for.
struct AuditQuery {
  std::string project;
  std::string actor;  // a user's name, the id of a job or task, or `server`
  std::string kind;   // "job.submitted", or "job" for all that happens to jobs
  std::string thing;  // id of the noun it is about
  std::optional<Time> since, until;
  int64_t limit = 100;
  std::string cursor;  // from AuditPage::next_cursor
};
struct AuditPage {
  std::vector<Event> items;
  // "" at the end. A page may be short, even empty, and still have one: no more than kAuditLooks
  // events are looked at for one.
  std::string next_cursor;
};
constexpr int64_t kMostAudited = 1000;  // of one page
constexpr int64_t kAuditLooks = 100'000;

// Only of what the identity may see.
Result<AuditPage> audit(Context& context, Access& access, const Identity& who,
                        const AuditQuery& query);

}  // namespace hearth::control
