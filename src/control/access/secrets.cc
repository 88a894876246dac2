// Secrets: sealed with the key that lies outside the database, bound to project and name.
#include <algorithm>

#include "base/format.h"
#include "base/id.h"
#include "control/access/state.h"

namespace hearth::control {
namespace {

std::string bound_to(const std::string& project, const std::string& name) {
  return project + "/" + name;
}

}  // namespace

Result<Secret> Access::set_secret(const Identity& who, const std::string& project,
                                  const std::string& name, const std::string& value) {
  TRY(require(who, project, Grade::maintainer));
  Context& context = state_->context;
  Secret secret;
  secret.name = name;
  secret.project = project;
  // The name's rule is that of its field.
  TRY(from_json<Secret>(format(R"({{"name":{}}})", json_quote(name)), Origin::client));
  TRY(state_->change([&](db::Session& session) -> Result<void> {
    auto found =
        TRY(db::Table<Secret>::find(session, "WHERE project = $1 AND name = $2", {project, name}));
    const Time now = context.clock.now();
    if (found) secret = *found;
    secret.sealed = to_base64(TRY(seal(state_->key, value, bound_to(project, name))));
    secret.updated_at = now;
    if (found) {
      TRY(db::Table<Secret>::update(session, secret));
    } else {
      secret.id = new_id(context.clock, context.random);
      secret.created_by = who.user;
      secret.created_at = now;
      TRY(db::Table<Secret>::insert(session, secret));
    }
    TRY(emit(session, context.clock, who.actor(), project, "secret.set", secret.id, secret.version,
             format(R"({{"name":{}}})", json_quote(name))));
    return {};
  }));
  return secret;
}

Result<std::vector<Secret>> Access::list_secrets(const Identity& who, const std::string& project) {
  TRY(require(who, project, Grade::member));
  std::vector<Secret> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Secret>::select(session, "WHERE project = $1 ORDER BY name LIMIT 10000",
                                        {project}));
    return {};
  }));
  return all;
}

Result<void> Access::delete_secret(const Identity& who, const std::string& project,
                                   const std::string& name) {
  TRY(require(who, project, Grade::maintainer));
  return state_->change([&](db::Session& session) -> Result<void> {
    const auto found =
        TRY(db::Table<Secret>::find(session, "WHERE project = $1 AND name = $2", {project, name}));
    if (!found) return Error::not_found(format("project {} has no secret '{}'", project, name));
    TRY(db::Table<Secret>::remove(session, found->id));
    TRY(emit(session, state_->context.clock, who.actor(), project, "secret.deleted", found->id,
             found->version + 1));
    return {};
  });
}

Result<std::vector<std::string>> Access::closed_secrets() {
  std::vector<std::string> closed;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    closed.clear();
    for (const Secret& secret :
         TRY(db::Table<Secret>::select(session, "ORDER BY project, name LIMIT 10000", {}))) {
      const std::string name = bound_to(secret.project, secret.name);
      const auto sealed = from_base64(secret.sealed);
      if (!sealed.ok() || !unseal(state_->key, *sealed, name).ok()) closed.push_back(name);
    }
    return {};
  }));
  return closed;
}

Result<std::map<std::string, std::string>> Access::open_secrets(
    db::Session& session, const std::string& project, const std::vector<std::string>& names) {
  std::map<std::string, std::string> values;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto secret =
        TRY(db::Table<Secret>::find(session, "WHERE project = $1 AND name = $2", {project, name}));
    if (!secret) {
      missing.push_back(name);
      continue;
    }
    auto value = unseal(state_->key, TRY(from_base64(secret->sealed)), bound_to(project, name));
    if (!value.ok())
      return Error::conflict(
          format("the key of this server does not open the secret {}", name),
          format("`hearth secret set {}` sets it anew, or give the old --key-file", name));
    values[name] = std::move(value).value();
  }
  if (!missing.empty())
    return Error::not_found(format("project {} has no secret {}", project, join(missing, ", ")),
                            format("`hearth secret set {}` makes it", missing.front()));
  return values;
}

}  // namespace hearth::control
