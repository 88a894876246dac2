#include "control/records/state.h"
#include "net/http.h"

namespace hearth::control {

Result<ModelVersion> Records::State::find_model_version(db::Session& session,
                                                        const std::string& project,
                                                        const std::string& reference) {
  const Reference wanted = parse_reference(reference);
  const Model model = TRY(by_name<Model>(session, project, wanted.name, "model"));
  int64_t number = wanted.number;
  if (wanted.word.empty()) {
    // The newest that is still there.
    TRY(session.query("SELECT MAX(number) FROM model_versions WHERE project = $1 AND model = $2",
                      {project, model.name}, [&](const db::Row& row) -> Result<void> {
                        number = row.null(0) ? 0 : row.integer(0);
                        return {};
                      }));
  }
  if (const auto alias = model.aliases.find(wanted.word); alias != model.aliases.end())
    number = parse_reference("@" + alias->second).number;
  auto version = TRY(db::Table<ModelVersion>::find(
      session, "WHERE project = $1 AND model = $2 AND number = $3", {project, model.name, number}));
  if (!version)
    return Error::not_found(format("model {} has no version '{}'", model.name, wanted.word),
                            format("`hearth model show {}` lists its versions", model.name));
  return std::move(*version);
}

Result<db::ListPage<Model>> Records::list_models(const Identity& who, const std::string& project,
                                                 db::ListQuery query) {
  return state_->list<Model>(who, project, std::move(query));
}

Result<Model> Records::get_model(const Identity& who, const std::string& project,
                                 const std::string& name) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  Model model;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    model = TRY(State::by_name<Model>(session, where, name, "model"));
    return {};
  }));
  return model;
}

Result<std::vector<ModelVersion>> Records::model_versions(const Identity& who,
                                                          const std::string& project,
                                                          const std::string& name) {
  const Model model = TRY(get_model(who, project, name));
  std::vector<ModelVersion> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(State::versions_of(session, model.project, model.name));
    return {};
  }));
  return all;
}

Result<ModelVersion> Records::get_model_version(const Identity& who, const std::string& project,
                                                const std::string& reference) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  ModelVersion version;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    version = TRY(State::find_model_version(session, where, reference));
    return {};
  }));
  return version;
}

Result<Model> Records::set_alias(const Identity& who, const std::string& project,
                                 const std::string& name, const std::string& alias,
                                 int64_t number) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  if (!who.job_id.empty())
    return Error::denied("a job's token sets no alias", "use your own token");
  TRY(check_version_word(alias, "an alias"));
  // To MLflow's clients it is the newest version.
  if (number != 0 && net::equal_without_case(alias, "latest"))
    return Error::invalid(format("'{}' cannot be an alias: it means the newest version", alias),
                          "take another word");
  Model model;
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    model = TRY(State::by_name<Model>(session, where, name, "model"));
    if (number == 0) {
      if (model.aliases.erase(alias) == 0)
        return Error::not_found(format("model {} has no alias '{}'", name, alias));
    } else {
      TRY(State::find_model_version(session, where, format("{}@{}", name, number)));
      model.aliases[alias] = std::to_string(number);
    }
    model.updated_at = state_->context.clock.now();
    TRY(db::Table<Model>::update(session, model));
    TRY(emit(session, state_->context.clock, who.actor(), where, "model.alias_set", model.id,
             model.version, format(R"({{"alias":{},"number":{}}})", json_quote(alias), number)));
    return {};
  }));
  state_->context.signals.notify(kEventsTopic);
  return model;
}

}  // namespace hearth::control
