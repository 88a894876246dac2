// Who is asking, and what he may do.
#include <algorithm>

#include "base/format.h"
#include "base/id.h"
#include "control/access/state.h"

namespace hearth::control {
namespace {

constexpr int kMostProjectDepth = 32;

Error unknown_token() {
  return Error::of(Code::unauthenticated, "this token is not known, expired or revoked",
                   "`hearth login` gives a new one");
}

}  // namespace

Error no_such_project(const std::string& name) {
  return Error::not_found(format("there is no project '{}'", name),
                          "`hearth project list` shows those you may see");
}

Result<Grade> Access::State::grade(db::Session& session, const std::string& user,
                                   const std::string& project) {
  const auto row = TRY(db::Table<User>::find(session, "WHERE name = $1", {user}));
  if (!row || row->disabled) return Grade::none;
  if (row->admin) return Grade::admin;
  Grade best = Grade::none;
  std::string name = project;
  for (int depth = 0; depth < kMostProjectDepth && !name.empty(); ++depth) {
    const auto membership = TRY(db::Table<Membership>::find(
        session, R"(WHERE "user" = $1 AND project = $2)", {user, name}));
    if (membership) best = std::max(best, membership->role);
    const auto above = TRY(db::Table<Project>::find(session, "WHERE name = $1", {name}));
    if (!above) break;
    name = above->parent;
  }
  return best;
}

Result<Identity> Access::authenticate(std::string_view token, const std::string& address,
                                      const std::string& request_id) {
  if (token.size() > 256) return unknown_token();
  const std::string hash = sha256(token);
  const Time now = state_->context.clock.now();
  const uint64_t generation = state_->generation;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->cache.find(hash);
    if (found != state_->cache.end() && found->second.generation == generation &&
        found->second.expires > now) {
      Identity who = found->second.who;
      who.address = address;
      who.request_id = request_id;
      return who;
    }
  }
  Identity who;
  Time token_expires{INT64_MAX};
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    const auto row = TRY(db::Table<Token>::find(session, "WHERE hash = $1", {hash}));
    if (!row || row->revoked_at.micros != 0) return unknown_token();
    if (row->expires_at.micros != 0) {
      if (row->expires_at <= now) return unknown_token();
      token_expires = row->expires_at;
    }
    who.kind = row->kind;
    who.token_id = row->id;
    who.project = row->project;
    who.job_id = row->job_id;
    who.task_id = row->task_id;
    if (row->role != Grade::none) who.most = row->role;
    if (row->kind == TokenKind::job || row->kind == TokenKind::task) {
      who.most = Grade::member;
      return {};
    }
    const auto user = TRY(db::Table<User>::find(session, "WHERE name = $1", {row->user}));
    if (!user || user->disabled) return unknown_token();
    who.user = user->name;
    who.admin = user->admin && who.most == Grade::admin && who.project.empty();
    return {};
  }));
  // A job's token ends in the transaction that ends its task, of which the cache is not told.
  if (who.kind != TokenKind::job) {
    const std::lock_guard lock(state_->mutex);
    if (state_->cache.size() >= State::kMostCached) state_->cache.clear();
    state_->cache[hash] = {who, std::min(token_expires, now + State::kCacheLife), generation};
  }
  who.address = address;
  who.request_id = request_id;
  return who;
}

Identity Access::local_admin(const std::string& request_id) {
  Identity who;
  who.admin = true;
  who.address = "unix";
  who.request_id = request_id;
  ignore(state_->context.database.read([&](db::Session& session) -> Result<void> {
    const auto first = TRY(db::Table<User>::find(
        session, "WHERE admin = 1 AND disabled = 0 ORDER BY created_at, id LIMIT 1", {}));
    if (first) who.user = first->name;
    return {};
  }));
  return who;
}

Result<void> Access::require(const Identity& who, const std::string& project, Grade least) {
  if (!who.project.empty() && who.project != project) return no_such_project(project);
  const auto too_little = [&](Grade have) {
    return Error::denied(format("this needs the role {} in project {}; you have {}", word(least),
                                project, word(have)),
                         "ask a maintainer or an admin");
  };
  if (who.kind == TokenKind::job || who.kind == TokenKind::task)
    return least <= Grade::member ? Result<void>() : too_little(Grade::member);
  Grade have = Grade::admin;
  const uint64_t generation = state_->generation;
  const Time now = state_->context.clock.now();
  const std::string key = (who.admin ? "" : who.user) + "\n" + project;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->grades.find(key);
    if (found != state_->grades.end() && found->second.generation == generation &&
        found->second.expires > now) {
      have = std::min(found->second.grade, who.most);
      if (have == Grade::none) return no_such_project(project);
      return have >= least ? Result<void>() : too_little(have);
    }
  }
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    if (!TRY(db::Table<Project>::find(session, "WHERE name = $1", {project})))
      have = Grade::none;
    else if (!who.admin)
      have = TRY(state_->grade(session, who.user, project));
    return {};
  }));
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->grades.size() >= State::kMostCached) state_->grades.clear();
    state_->grades[key] = {have, now + State::kCacheLife, generation};
  }
  have = std::min(have, who.most);
  if (have == Grade::none) return no_such_project(project);
  if (have < least) return too_little(have);
  return {};
}

Result<void> Access::require_somewhere(const Identity& who, Grade least) {
  const Error refused = Error::denied(format("this needs the role {} in some project", word(least)),
                                      "ask a maintainer or an admin, or use another token");
  if (who.most < least) return refused;
  if (who.admin) return {};
  if (!who.project.empty()) return require(who, who.project, least);
  bool found = false;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    const auto user = TRY(db::Table<User>::find(session, "WHERE name = $1", {who.user}));
    found = user && user->admin;  // by a token of a lesser role
    for (const Membership& m :
         TRY(db::Table<Membership>::select(session, R"(WHERE "user" = $1)", {who.user})))
      found = found || m.role >= least;
    return {};
  }));
  return found ? Result<void>() : refused;
}

Result<void> Access::require_admin(const Identity& who) {
  if (who.admin) return {};
  return Error::denied("this needs an admin", "ask an admin, or use an admin's token");
}

Result<std::optional<std::vector<std::string>>> Access::visible_projects(const Identity& who) {
  using Names = std::optional<std::vector<std::string>>;
  if (who.admin) return Names();
  if (who.kind == TokenKind::job || who.kind == TokenKind::task)
    return Names(std::vector{who.project});
  if (!who.project.empty()) {
    const auto seen = require(who, who.project, Grade::viewer);
    if (seen.ok()) return Names(std::vector{who.project});
    if (seen.error().code != Code::not_found) return seen.error();
    return Names(std::vector<std::string>());
  }
  std::vector<std::string> names;
  bool all = false;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    const auto user = TRY(db::Table<User>::find(session, "WHERE name = $1", {who.user}));
    all = user && user->admin;  // by a token of a lesser role
    if (all) return {};
    // A role holds below its project too: walk the tree from each membership down.
    names.clear();
    std::vector<std::string> open;
    for (const Membership& m : TRY(db::Table<Membership>::select(
             session, R"(WHERE "user" = $1 AND role <> 'none')", {who.user})))
      open.push_back(m.project);
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      for (const Project& below :
           TRY(db::Table<Project>::select(session, "WHERE parent = $1", {name})))
        open.push_back(below.name);
    }
    return {};
  }));
  return all ? Names() : Names(std::move(names));
}

Result<bool> Access::narrow(const Identity& who, const std::string& project, db::ListQuery& query) {
  if (!project.empty()) {
    TRY(require(who, project, Grade::viewer));
    query.values = {project};
    query.where = "project = $1";
    return true;
  }
  const auto visible = TRY(visible_projects(who));
  if (!visible) return true;
  std::string places;
  for (const std::string& name : *visible) {
    query.values.emplace_back(name);
    places += format("{}${}", places.empty() ? "" : ", ", query.values.size());
  }
  query.where = format("project IN ({})", places);
  return !visible->empty();
}

}  // namespace hearth::control
