#include "api/mlflow/registry.h"

#include <algorithm>

#include "api/mlflow/filter.h"
#include "api/mlflow/limits.h"

namespace hearth::api::mlflow {
namespace {

std::string_view stage_of(const ModelVersion& version) {
  return version.stage.empty() ? std::string_view("None") : std::string_view(version.stage);
}

int64_t updated(Time updated_at, Time created_at) {
  return millis(updated_at.micros == 0 ? created_at : updated_at);
}

}  // namespace

std::string files_of(const ModelVersion& version) {
  // What is pinned here stays when the source's files go. A single file keeps its own address:
  // clients would take ours for a directory.
  const bool own = version.directory && !version.digest.empty();
  if (!own && !version.location.empty()) return version.location;
  if (!own && !version.source.empty()) return version.source;
  return "mlflow-artifacts:/model-versions/" + version.id + "/artifacts";
}

void write_version(std::string& out, const ModelVersion& version, const Model& model) {
  JsonObject object(out);
  object.text("name", version.model);
  object.text("version", std::to_string(version.number));
  object.integer("creation_timestamp", millis(version.created_at));
  object.integer("last_updated_timestamp", updated(version.updated_at, version.created_at));
  object.some_text("user_id", version.created_by);
  object.text("current_stage", stage_of(version));
  object.text("description", version.description);
  object.text("source", version.source.empty() ? files_of(version) : version.source);
  object.text("run_id", version.run_id);
  object.text("status", "READY");
  object.text("run_link", version.run_link);
  object.pairs("tags", version.tags);
  std::vector<std::string> aliases;
  for (const auto& [alias, number] : model.aliases)
    if (number == std::to_string(version.number)) aliases.push_back(alias);
  object.texts("aliases", aliases);
  object.some_text("model_id", version.logged_model_id);
}

std::vector<ModelVersion> latest_of(const std::vector<ModelVersion>& versions) {
  std::map<std::string_view, const ModelVersion*> newest;
  for (const ModelVersion& one : versions) {
    const ModelVersion*& known = newest[stage_of(one)];
    if (known == nullptr || known->number < one.number) known = &one;
  }
  std::vector<ModelVersion> all;
  for (const auto& [stage, version] : newest) all.push_back(*version);
  return all;
}

void write_model(std::string& out, const Model& model, const std::vector<ModelVersion>& versions) {
  JsonObject object(out);
  object.text("name", model.name);
  object.integer("creation_timestamp", millis(model.created_at));
  object.integer("last_updated_timestamp", updated(model.updated_at, model.created_at));
  object.text("description", model.description);
  object.list("latest_versions", latest_of(versions),
              [&](std::string& to, const ModelVersion& one) { write_version(to, one, model); });
  object.pairs("tags", model.tags);
  object.list("aliases", model.aliases, [](std::string& to, const auto& pair) {
    JsonObject alias(to);
    alias.text("alias", pair.first);
    alias.text("version", pair.second);
  });
}

Result<int64_t> version_number(const Fields& args) {
  const Node* found = args.find("version");
  if (found == nullptr || found->text.empty()) return args.missing("version");
  const auto number = integer_of(found->text);
  if (!number)
    return Error::invalid(
        format("Parameter 'version' must be an integer, got '{}'.", found->text.substr(0, 80)));
  return *number;
}

Result<void> check_registry_tag(std::string_view key, std::string_view value) {
  TRY(check_key(key, "key"));
  return check_length("value", value, kMostRegistryTag);
}

Result<std::map<std::string, std::string>> registry_tags(const Fields& args) {
  std::map<std::string, std::string> tags;
  for (auto& [key, value] : TRY(args.pairs("tags"))) {
    TRY(check_registry_tag(key, value));
    tags[std::move(key)] = std::move(value);
  }
  return tags;
}

Result<Model> model_named(Call& call, const std::string& name) {
  auto model = call.services.records.get_model(call.who, project_of(call), name);
  if (!model.ok() && model.error().code == Code::not_found)
    return Error::not_found(format("Registered Model with name={} not found", name));
  return model;
}

bool tags_hold(const std::vector<control::Comparison>& filter,
               const std::map<std::string, std::string>& tags) {
  const auto value_of = [&](const std::string& key) -> std::optional<std::string> {
    const auto found = tags.find(key);
    return found == tags.end() ? std::nullopt : std::optional(found->second);
  };
  bool asks_for_prompts = false;
  for (const control::Comparison& one : filter) {
    if (one.column.side != control::Side::tag) continue;
    auto value = value_of(one.column.key);
    if (one.column.key == kIsPrompt) {
      asks_for_prompts = true;
      if (!value) value = "false";
    }
    if (!holds(one, value)) return false;
  }
  return asks_for_prompts || value_of(std::string(kIsPrompt)).value_or("false") != "true";
}

}  // namespace hearth::api::mlflow
