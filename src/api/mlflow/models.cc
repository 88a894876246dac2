// registered-models/...
#include <algorithm>

#include "api/mlflow/filter.h"
#include "api/mlflow/limits.h"
#include "api/mlflow/paging.h"
#include "api/mlflow/registry.h"

namespace hearth::api::mlflow {
namespace {

constexpr int64_t kUsualModels = 100;
constexpr int64_t kMostModels = 1000;

control::Records& records(Call& call) {
  return call.services.records;
}

Result<std::string> answer_model(Call& call, const Model& model) {
  const auto versions = TRY(records(call).all_versions(call.who, project_of(call), model.name, ""));
  return json_object(
      [&](JsonObject& object) { write_model(object.member("registered_model"), model, versions); });
}

Result<std::string> create(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  TRY(check_model_name(name));
  control::ModelChange with;
  for (auto& [key, value] : TRY(registry_tags(args))) with.tags[key] = value;
  with.description = TRY(args.text("description"));
  const Model model = TRY(records(call).create_model(call.who, project_of(call), name, with));
  return json_object(
      [&](JsonObject& object) { write_model(object.member("registered_model"), model, {}); });
}

Result<std::string> get(Call& call, const Fields& args) {
  return answer_model(call, TRY(model_named(call, TRY(args.need_text("name")))));
}

Result<std::string> rename(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  const std::string to = TRY(args.need_text("new_name"));
  TRY(check_model_name(to));
  return answer_model(call, TRY(records(call).rename_model(call.who, project_of(call), name, to)));
}

Result<std::string> update(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  control::ModelChange change;
  change.description = TRY(args.text("description"));
  return answer_model(call,
                      TRY(records(call).change_model(call.who, project_of(call), name, change)));
}

Result<std::string> remove(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  TRY(records(call).delete_model(call.who, project_of(call), name));
  return std::string("{}");
}

Result<std::string> set_tag(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  const std::string key = TRY(args.need_text("key"));
  const std::string value = TRY(args.text("value"));
  TRY(check_registry_tag(key, value));
  control::ModelChange change;
  change.tags[key] = value;
  TRY(records(call).change_model(call.who, project_of(call), name, change));
  return std::string("{}");
}

Result<std::string> delete_tag(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  control::ModelChange change;
  change.tags[TRY(args.need_text("key"))] = std::nullopt;
  TRY(records(call).change_model(call.who, project_of(call), name, change));
  return std::string("{}");
}

// --- search -------------------------------------------------------------------------------------

double number_of(const Model& model, const std::string& key) {
  const Time updated = model.updated_at.micros == 0 ? model.created_at : model.updated_at;
  return static_cast<double>(millis(key == "creation_timestamp" ? model.created_at : updated));
}

bool matches(const std::vector<control::Comparison>& filter, const Model& model) {
  for (const control::Comparison& one : filter) {
    if (one.column.side != control::Side::attribute) continue;
    const bool good = one.column.key == "name"
                          ? holds(one, std::optional(model.name))
                          : holds(one, std::optional(number_of(model, one.column.key)));
    if (!good) return false;
  }
  return tags_hold(filter, model.tags);
}

Result<void> sort_models(std::vector<Model>& models, const std::vector<control::Order>& order) {
  for (const control::Order& one : order)
    if (one.column.side != control::Side::attribute)
      return Error::invalid(format("Invalid order by key '{}' specified", one.column.key),
                            "valid ones are: name, creation_timestamp, last_updated_timestamp");
  std::sort(models.begin(), models.end(), [&](const Model& a, const Model& b) {
    for (const control::Order& one : order) {
      const Model& first = one.descending ? b : a;
      const Model& second = one.descending ? a : b;
      if (one.column.key == "name") {
        if (first.name != second.name) return first.name < second.name;
        continue;
      }
      const double x = number_of(first, one.column.key), y = number_of(second, one.column.key);
      if (x != y) return x < y;
    }
    return a.name < b.name;
  });
  return {};
}

Result<std::string> search(Call& call, const Fields& args) {
  const auto filter = TRY(parse_filter(TRY(args.text("filter")), Noun::registered_model));
  const auto order = TRY(parse_order(TRY(args.texts("order_by")), Noun::registered_model));
  const int64_t limit = TRY(args.integer("max_results")).value_or(kUsualModels);
  if (limit < 1 || limit > kMostModels)
    return Error::invalid(
        format("Invalid value for request parameter max_results. It must be at "
               "most {}, but got value {}",
               kMostModels, limit));
  auto models = TRY(records(call).all_models(call.who, project_of(call)));
  std::erase_if(models, [&](const Model& model) { return !matches(filter, model); });
  TRY(sort_models(models, order));
  const auto page = TRY(page_of(std::move(models), TRY(args.text("page_token")), limit,
                                [](const Model& model) { return model.id; }));
  std::map<std::string, std::vector<ModelVersion>> versions;
  for (const Model& model : page.items)
    if (model.versions > 0)
      versions[model.name] =
          TRY(records(call).all_versions(call.who, project_of(call), model.name, ""));
  return json_object([&](JsonObject& object) {
    object.list("registered_models", page.items, [&](std::string& to, const Model& model) {
      write_model(to, model, versions[model.name]);
    });
    object.some_text("next_page_token", page.next_token);
  });
}

Result<std::string> latest(Call& call, const Fields& args) {
  const Model model = TRY(model_named(call, TRY(args.need_text("name"))));
  auto stages = TRY(args.texts("stages"));
  for (std::string& stage : stages) {
    // Any case is taken, one is given.
    for (char& c : stage) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!stage.empty()) stage[0] = static_cast<char>(stage[0] - 'a' + 'A');
    static constexpr std::array<std::string_view, 4> kKnown{"None", "Staging", "Production",
                                                            "Archived"};
    if (std::find(kKnown.begin(), kKnown.end(), stage) == kKnown.end())
      return Error::invalid(format("Invalid Model Version stage: {}. Value must be one of {}.",
                                   stage, join(kKnown, ", ")));
  }
  auto versions =
      latest_of(TRY(records(call).all_versions(call.who, project_of(call), model.name, "")));
  if (!stages.empty())
    std::erase_if(versions, [&](const ModelVersion& one) {
      const std::string stage = one.stage.empty() ? "None" : one.stage;
      return std::find(stages.begin(), stages.end(), stage) == stages.end();
    });
  return json_object([&](JsonObject& object) {
    object.list("model_versions", versions,
                [&](std::string& to, const ModelVersion& one) { write_version(to, one, model); });
  });
}

// --- aliases ------------------------------------------------------------------------------------

Result<std::string> set_alias(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  const std::string alias = TRY(args.need_text("alias"));
  const int64_t number = TRY(version_number(args));
  TRY(check_alias(alias));
  TRY(model_named(call, name));
  auto done = records(call).set_alias(call.who, project_of(call), name, alias, number);
  if (!done.ok() && done.error().code == Code::not_found)
    return Error::not_found(format("Model Version (name={}, version={}) not found", name, number));
  TRY(std::move(done));
  return std::string("{}");
}

Result<std::string> delete_alias(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  const std::string alias = TRY(args.need_text("alias"));
  const Model model = TRY(model_named(call, name));
  if (model.aliases.contains(alias))
    TRY(records(call).set_alias(call.who, project_of(call), name, alias, 0));
  return std::string("{}");
}

Result<std::string> get_by_alias(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  const std::string alias = TRY(args.need_text("alias"));
  const Model model = TRY(model_named(call, name));
  if (!model.aliases.contains(alias))
    return Error::invalid(format("Registered model alias {} not found.", alias));
  const auto version =
      TRY(records(call).get_model_version(call.who, project_of(call), name + "@" + alias));
  return json_object(
      [&](JsonObject& object) { write_version(object.member("model_version"), version, model); });
}

}  // namespace

void add_model_calls(RouteTable& table) {
  add_json(table, "POST", "/registered-models/create", create);
  add_json(table, "GET", "/registered-models/get", get);
  add_json(table, "POST", "/registered-models/rename", rename);
  add_json(table, "PATCH", "/registered-models/update", update);
  add_json(table, "DELETE", "/registered-models/delete", remove);
  add_json(table, "GET", "/registered-models/search", search);
  add_json(table, "POST", "/registered-models/get-latest-versions", latest);
  add_json(table, "GET", "/registered-models/get-latest-versions", latest);
  add_json(table, "POST", "/registered-models/set-tag", set_tag);
  add_json(table, "DELETE", "/registered-models/delete-tag", delete_tag);
  add_json(table, "POST", "/registered-models/alias", set_alias);
  add_json(table, "DELETE", "/registered-models/alias", delete_alias);
  add_json(table, "GET", "/registered-models/alias", get_by_alias);
}

}  // namespace hearth::api::mlflow
