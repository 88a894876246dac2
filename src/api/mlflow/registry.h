// The registry as MLflow's messages.
#pragma once

#include "api/mlflow/encode.h"
#include "api/mlflow/face.h"
#include "domain/model.h"

namespace hearth::api::mlflow {

constexpr std::string_view kIsPrompt = "mlflow.prompt.is_prompt";

void write_version(std::string& out, const ModelVersion& version, const Model& model);
void write_model(std::string& out, const Model& model, const std::vector<ModelVersion>& versions);
// Where the version's files are, for a client that fetches them.
std::string files_of(const ModelVersion& version);
// The newest of each stage.
std::vector<ModelVersion> latest_of(const std::vector<ModelVersion>& versions);
// "version" as a number.
Result<int64_t> version_number(const Fields& args);
// Tags of a new model or version, checked.
Result<std::map<std::string, std::string>> registry_tags(const Fields& args);
Result<void> check_registry_tag(std::string_view key, std::string_view value);
Result<Model> model_named(Call& call, const std::string& name);

// Whether the tag comparisons hold. Prompts are models with a tag: a search that does not ask about
// it passes them over, and one for `!= 'true'` or `= 'false'` finds what lacks it.
bool tags_hold(const std::vector<control::Comparison>& filter,
               const std::map<std::string, std::string>& tags);

}  // namespace hearth::api::mlflow
