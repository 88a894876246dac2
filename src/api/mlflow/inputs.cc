// runs/log-inputs and runs/outputs: what a run read and the models it made.
#include "api/mlflow/face.h"
#include "api/mlflow/limits.h"
#include "control/tracking/tracking.h"

namespace hearth::api::mlflow {
namespace {

constexpr size_t kMostName = 500;
constexpr size_t kMostDigest = 36;
constexpr size_t kMostSource = 65'535;
constexpr size_t kMostSchema = 1'048'575;
constexpr size_t kMostProfile = 16'777'215;
constexpr size_t kMostTagKey = 255;
constexpr size_t kMostTagValue = 500;

Result<control::DatasetInput> input_of(const Fields& one) {
  control::DatasetInput input;
  const auto dataset = TRY(one.object("dataset"));
  if (!dataset) return one.missing("dataset");
  input.name = TRY(dataset->need_text("name"));
  input.digest = TRY(dataset->need_text("digest"));
  input.source_type = TRY(dataset->text("source_type"));
  input.source = TRY(dataset->text("source"));
  input.schema = TRY(dataset->text("schema"));
  input.profile = TRY(dataset->text("profile"));
  TRY(check_length("name", input.name, kMostName));
  TRY(check_length("digest", input.digest, kMostDigest));
  TRY(check_length("source", input.source, kMostSource));
  TRY(check_length("schema", input.schema, kMostSchema));
  TRY(check_length("profile", input.profile, kMostProfile));
  for (auto& [key, value] : TRY(one.pairs("tags"))) {
    TRY(check_length("key", key, kMostTagKey));
    TRY(check_length("value", value, kMostTagValue));
    input.tags[std::move(key)] = std::move(value);
  }
  return input;
}

Result<std::vector<control::ModelUse>> models_of(const Fields& args) {
  std::vector<control::ModelUse> all;
  for (const Fields& one : TRY(args.objects("models"))) {
    control::ModelUse use;
    use.model_id = TRY(one.need_text("model_id"));
    use.step = TRY(one.integer("step")).value_or(0);
    all.push_back(std::move(use));
  }
  return all;
}

Result<std::string> log_inputs(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  std::vector<control::DatasetInput> inputs;
  for (const Fields& one : TRY(args.objects("datasets"))) inputs.push_back(TRY(input_of(one)));
  const auto models = TRY(models_of(args));
  TRY(of_run(call.services.tracking.log_inputs(call.who, id, inputs, models), id));
  return std::string("{}");
}

Result<std::string> log_outputs(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  if (!args.has("models")) return args.missing("models");
  const auto models = TRY(models_of(args));
  TRY(of_run(call.services.tracking.log_outputs(call.who, id, models), id));
  return std::string("{}");
}

}  // namespace

void add_input_calls(RouteTable& table) {
  add_json(table, "POST", "/runs/log-inputs", log_inputs).most_body_bytes = kMostJsonBytes;
  add_json(table, "POST", "/runs/outputs", log_outputs);
}

}  // namespace hearth::api::mlflow
