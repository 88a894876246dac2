// Users, projects, roles, and the first start.
#include <algorithm>

#include "base/format.h"
#include "base/id.h"
#include "control/access/state.h"

namespace hearth::control {

Access::Access(Context context, Bytes key)
    : state_(std::make_unique<State>(context, std::move(key))) {
  ignore(state_->context.database.read([&](db::Session& session) -> Result<void> {
    state_->server_id = TRY(db::get_setting(session, "server_id")).value_or("");
    return {};
  }));
}
Access::~Access() = default;

uint64_t Access::generation() const {
  return state_->generation;
}

std::string Access::server_id() const {
  return state_->server_id;
}

Result<std::optional<NewToken>> Access::bootstrap(const std::string& user_name) {
  Context& context = state_->context;
  std::optional<NewToken> made;
  std::string server_id;
  const auto look = [&](db::Session& session) -> Result<void> {
    server_id = TRY(db::get_setting(session, "server_id")).value_or("");
    return {};
  };
  TRY(context.database.read(look));
  // A server that may write nothing starts all the same, to be read.
  if (!server_id.empty()) {
    state_->server_id = server_id;
    return made;
  }
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    made.reset();
    TRY(look(session));
    if (!server_id.empty()) return {};
    server_id = new_id(context.clock, context.random);
    TRY(db::set_setting(session, "server_id", server_id));
    const Time now = context.clock.now();
    Project project;
    project.id = new_id(context.clock, context.random);
    project.name = "default";
    project.created_by = user_name;
    project.created_at = now;
    TRY(db::Table<Project>::insert(session, project));
    User user;
    user.id = new_id(context.clock, context.random);
    user.name = user_name;
    user.admin = true;
    user.created_at = now;
    TRY(db::Table<User>::insert(session, user));
    made = make_token(context, TokenKind::user, "first start");
    made->token.user = user.name;
    TRY(db::Table<Token>::insert(session, made->token));
    TRY(emit(session, context.clock, server_actor(), "", "user.added", user.id, 0));
    return {};
  }));
  state_->server_id = server_id;
  return made;
}

Result<User> Access::add_user(const Identity& who, User wanted, const std::string& project,
                              Grade role) {
  TRY(require_admin(who));
  Context& context = state_->context;
  wanted.id = new_id(context.clock, context.random);
  wanted.created_at = context.clock.now();
  wanted.version = 0;
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    if (TRY(db::Table<User>::find(session, "WHERE name = $1", {wanted.name})))
      return Error::of(Code::exists, format("there is a user '{}' already", wanted.name));
    if (!project.empty() && !TRY(db::Table<Project>::find(session, "WHERE name = $1", {project})))
      return no_such_project(project);
    TRY(db::Table<User>::insert(session, wanted));
    if (!project.empty() && role != Grade::none) {
      Membership membership;
      membership.id = new_id(context.clock, context.random);
      membership.user = wanted.name;
      membership.project = project;
      membership.role = role;
      membership.created_at = wanted.created_at;
      TRY(db::Table<Membership>::insert(session, membership));
    }
    TRY(emit(session, context.clock, who.actor(), "", "user.added", wanted.id, 0));
    return {};
  }));
  return wanted;
}

Result<std::vector<User>> Access::list_users(const Identity& who) {
  if (who.user.empty()) return Error::denied("a job does not list users");
  std::vector<User> users;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    users = who.admin ? TRY(db::Table<User>::select(session, "ORDER BY name LIMIT 10000", {}))
                      : TRY(db::Table<User>::select(session, "WHERE name = $1", {who.user}));
    return {};
  }));
  return users;
}

Result<std::string> Access::project_name(const Identity& who, const std::string& name_or_id) {
  if (!is_id(name_or_id)) return name_or_id;
  std::string name = name_or_id;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    if (const auto found = TRY(db::Table<Project>::get(session, name_or_id))) name = found->name;
    return {};
  }));
  return require(who, name, Grade::viewer).ok() ? name : name_or_id;
}

Result<std::string> Access::user_name(const std::string& name_or_id) {
  if (!is_id(name_or_id)) return name_or_id;
  std::string name = name_or_id;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    if (const auto found = TRY(db::Table<User>::get(session, name_or_id))) name = found->name;
    return {};
  }));
  return name;
}

Result<User> Access::set_user_disabled(const Identity& who, const std::string& name,
                                       bool disabled) {
  TRY(require_admin(who));
  User user;
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    auto found = TRY(db::Table<User>::find(session, "WHERE name = $1", {name}));
    if (!found) return Error::not_found(format("there is no user '{}'", name));
    user = *found;
    if (disabled && user.admin) {
      const auto others = TRY(db::Table<User>::select(
          session, "WHERE admin = 1 AND disabled = 0 AND name <> $1 LIMIT 1", {name}));
      if (others.empty())
        return Error::conflict(format("{} is the last admin", name), "make another admin first");
    }
    user.disabled = disabled;
    TRY(db::Table<User>::update(session, user));
    TRY(emit(session, state_->context.clock, who.actor(), "",
             disabled ? "user.disabled" : "user.enabled", user.id, user.version));
    return {};
  }));
  return user;
}

Result<Membership> Access::set_role(const Identity& who, const std::string& user,
                                    const std::string& project, Grade role) {
  TRY(require(who, project, Grade::maintainer));
  // Nobody gives more than he has.
  const auto as_admin = require(who, project, Grade::admin);
  if (role == Grade::admin) TRY(as_admin);
  Context& context = state_->context;
  Membership membership;
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    if (!TRY(db::Table<User>::find(session, "WHERE name = $1", {user})))
      return Error::not_found(format("there is no user '{}'", user));
    auto found = TRY(db::Table<Membership>::find(session, R"(WHERE "user" = $1 AND project = $2)",
                                                 {user, project}));
    if (found && found->role == Grade::admin) TRY(as_admin);
    if (found) {
      membership = *found;
      membership.role = role;
      if (role == Grade::none)
        TRY(db::Table<Membership>::remove(session, membership.id));
      else
        TRY(db::Table<Membership>::update(session, membership));
    } else {
      membership = {};
      membership.id = new_id(context.clock, context.random);
      membership.user = user;
      membership.project = project;
      membership.role = role;
      membership.created_at = context.clock.now();
      if (role != Grade::none) TRY(db::Table<Membership>::insert(session, membership));
    }
    TRY(emit(session, context.clock, who.actor(), project, "project.role_set", membership.id,
             membership.version,
             format(R"({{"user":{},"role":"{}"}})", json_quote(user), word(role))));
    return {};
  }));
  return membership;
}

Result<std::vector<Membership>> Access::list_roles(const Identity& who,
                                                   const std::string& project) {
  TRY(require(who, project, Grade::viewer));
  std::vector<Membership> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Membership>::select(
        session, R"(WHERE project = $1 ORDER BY "user" LIMIT 10000)", {project}));
    return {};
  }));
  return all;
}

Result<Project> Access::add_project(const Identity& who, Project wanted) {
  if (wanted.parent.empty())
    TRY(require_admin(who));
  else
    TRY(require(who, wanted.parent, Grade::admin));
  Context& context = state_->context;
  wanted.id = new_id(context.clock, context.random);
  wanted.created_at = context.clock.now();
  wanted.created_by = who.user;
  wanted.version = 0;
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    if (TRY(db::Table<Project>::find(session, "WHERE name = $1", {wanted.name})))
      return Error::of(Code::exists, format("there is a project '{}' already", wanted.name));
    TRY(db::Table<Project>::insert(session, wanted));
    TRY(emit(session, context.clock, who.actor(), wanted.name, "project.added", wanted.id, 0));
    return {};
  }));
  return wanted;
}

Result<std::vector<Project>> Access::list_projects(const Identity& who) {
  const auto visible = TRY(visible_projects(who));
  std::vector<Project> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Project>::select(session, "ORDER BY name LIMIT 10000", {}));
    return {};
  }));
  if (visible)
    std::erase_if(all, [&](const Project& p) {
      return std::find(visible->begin(), visible->end(), p.name) == visible->end();
    });
  return all;
}

Result<Project> Access::get_project(const Identity& who, const std::string& name) {
  TRY(require(who, name, Grade::viewer));
  std::optional<Project> project;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    project = TRY(db::Table<Project>::find(session, "WHERE name = $1", {name}));
    return {};
  }));
  if (!project) return no_such_project(name);
  return std::move(*project);
}

Result<void> Access::delete_project(const Identity& who, const std::string& name) {
  TRY(require(who, name, Grade::admin));
  return state_->change([&](db::Session& session) -> Result<void> {
    const auto project = TRY(db::Table<Project>::find(session, "WHERE name = $1", {name}));
    if (!project) return no_such_project(name);
    for (const char* table : {"jobs", "runs", "models", "datasets", "secrets", "projects"}) {
      const char* column = std::string_view(table) == "projects" ? "parent" : "project";
      int64_t rows = 0;
      TRY(session.query(format("SELECT COUNT(*) FROM {} WHERE {} = $1", table, column), {name},
                        [&](const db::Row& row) -> Result<void> {
                          rows = row.integer(0);
                          return {};
                        }));
      if (rows > 0)
        return Error::conflict(format("project {} still has {} {}", name, rows, table),
                               "delete these first");
    }
    // A project of the same name that is made later must not inherit them.
    for (const char* table : {"memberships", "tokens", "experiments", "quotas"})
      TRY(session.execute(format("DELETE FROM {} WHERE project = $1", table), {name}));
    TRY(db::Table<Project>::remove(session, project->id));
    TRY(emit(session, state_->context.clock, who.actor(), name, "project.deleted", project->id,
             project->version + 1));
    return {};
  });
}

}  // namespace hearth::control
