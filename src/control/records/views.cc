#include "control/records/views.h"

#include <set>

#include "base/format.h"
#include "base/id.h"
#include "control/access/access.h"
#include "control/check_version.h"
#include "control/emit.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

Error missing(const std::string& id) {
  return Error::not_found(format("there is no view '{}'", id));
}

Result<void> must_be_a_person(const Identity& who) {
  if (who.kind != TokenKind::job && who.kind != TokenKind::task) return {};
  return Error::denied("views are saved by people", "use a token of your own");
}

}  // namespace

Result<db::ListPage<SavedView>> Views::list(const Identity& who, const std::string& page,
                                            const std::string& project, db::ListQuery query) {
  std::string shared;
  if (TRY(access_.narrow(who, project, query)))
    shared = query.where.empty() ? "shared = 1" : format("(shared = 1 AND {})", query.where);
  const auto with = [&](const std::string& value) {
    query.values.emplace_back(value);
    return format("${}", query.values.size());
  };
  query.where = format("(owner = {}{}{})", with(who.user), shared.empty() ? "" : " OR ", shared);
  if (!page.empty()) query.where += " AND page = " + with(page);
  if (!project.empty()) query.where += " AND project = " + with(project);
  db::ListPage<SavedView> found;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    found = TRY(db::Table<SavedView>::list(session, query));
    return {};
  }));
  return found;
}

Result<SavedView> Views::get(const Identity& who, const std::string& id) {
  std::optional<SavedView> found;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    found = TRY(db::Table<SavedView>::get(session, id));
    return {};
  }));
  if (!found) return missing(id);
  if (found->owner == who.user) return std::move(*found);
  if (!found->shared || !access_.require(who, found->project, Grade::viewer).ok())
    return missing(id);
  return std::move(*found);
}

Result<void> Views::may_save(const Identity& who, const SavedView& wanted) {
  TRY(must_be_a_person(who));
  if (wanted.shared && wanted.project.empty())
    return Error::invalid("a view of all projects is nobody's to share",
                          "name the project whose members shall see it");
  if (wanted.project.empty()) return {};
  return access_.require(who, wanted.project, wanted.shared ? Grade::member : Grade::viewer);
}

Result<SavedView> Views::add(const Identity& who, SavedView wanted) {
  TRY(may_save(who, wanted));
  wanted.id = new_id(context_.clock, context_.random);
  wanted.owner = who.user;
  wanted.created_at = context_.clock.now();
  SavedView made;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    made = wanted;
    int64_t count = 0;
    TRY(session.query("SELECT COUNT(*) FROM views WHERE owner = $1", {made.owner},
                      [&](const db::Row& row) -> Result<void> {
                        count = row.integer(0);
                        return {};
                      }));
    if (count >= kMostViews)
      return Error::of(Code::too_large, format("{} has {} views, the most", made.owner, count),
                       "delete one that is of no use any more");
    TRY(db::Table<SavedView>::insert(session, made));
    TRY(emit(session, context_.clock, who.actor(), made.project, "view.saved", made.id,
             made.version));
    return {};
  }));
  context_.signals.notify(kEventsTopic);
  return made;
}

Result<SavedView> Views::change(const Identity& who, const std::string& id, SavedView wanted,
                                std::optional<int64_t> if_version) {
  const SavedView seen = TRY(get(who, id));
  if (seen.owner != who.user)
    return Error::denied(format("view {} is {}'s to change", seen.name, seen.owner),
                         "save one of your own");
  TRY(may_save(who, wanted));
  SavedView made;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto before = TRY(db::Table<SavedView>::get(session, id));
    if (!before) return missing(id);
    TRY(check_version(before, if_version, "view " + before->name));
    made = wanted;
    made.id = id;
    made.owner = before->owner;
    made.created_at = before->created_at;
    made.version = before->version;
    TRY(db::Table<SavedView>::update(session, made));
    for (const std::string& project : std::set{before->project, made.project})
      TRY(emit(session, context_.clock, who.actor(), project, "view.changed", id, made.version));
    return {};
  }));
  context_.signals.notify(kEventsTopic);
  return made;
}

Result<void> Views::remove(const Identity& who, const std::string& id) {
  TRY(must_be_a_person(who));
  const SavedView view = TRY(get(who, id));
  if (view.owner != who.user) TRY(access_.require(who, view.project, Grade::maintainer));
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    if (!TRY(db::Table<SavedView>::remove(session, id))) return missing(id);
    TRY(emit(session, context_.clock, who.actor(), view.project, "view.deleted", id,
             view.version + 1));
    return {};
  }));
  context_.signals.notify(kEventsTopic);
  return {};
}

}  // namespace hearth::control
