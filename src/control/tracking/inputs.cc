#include "control/tracking/inputs.h"

#include "control/tracking/state.h"

namespace hearth {

template <>
struct Describe<control::DatasetInput> {
  static constexpr std::string_view name = "DatasetInput", doc = "A dataset that a run read.";
  static void fields(Fields<control::DatasetInput>& f) {
    using Input = control::DatasetInput;
    f("name", &Input::name, "name");
    f("digest", &Input::digest, "digest");
    f("source_type", &Input::source_type, "kind of source");
    f("source", &Input::source, "where it came from");
    f("schema", &Input::schema, "columns");
    f("profile", &Input::profile, "statistics");
    f("tags", &Input::tags, "what it was read for");
  }
};

namespace control {
namespace {

constexpr std::string_view kDataset = "dataset", kModelIn = "model_in", kModelOut = "model_out";
constexpr size_t kMostInputName = 1000;

Result<void> insert(db::Session& session, const std::string& run_id, std::string_view kind,
                    const std::string& name, const std::string& digest, size_t position,
                    const std::string& context, const std::string& body) {
  TRY(session.execute(
      "INSERT INTO run_inputs (run_id, kind, name, digest, position, context, body) VALUES ($1, "
      "$2, $3, $4, $5, $6, $7) ON CONFLICT (run_id, kind, name, digest) DO NOTHING",
      {run_id, std::string(kind), name, digest, static_cast<int64_t>(position), context, body}));
  return {};
}

Result<void> insert_models(db::Session& session, const std::string& run_id, std::string_view kind,
                           const std::vector<ModelUse>& models) {
  for (size_t i = 0; i < models.size(); ++i)
    TRY(insert(session, run_id, kind, models[i].model_id, "", i, "",
               std::to_string(models[i].step)));
  return {};
}

}  // namespace

Result<void> check_inputs(const std::vector<DatasetInput>& datasets,
                          const std::vector<ModelUse>& models) {
  if (datasets.size() > kMostRunInputs || models.size() > kMostRunInputs)
    return Error::invalid(format("give at most {} inputs in one call", kMostRunInputs));
  for (const DatasetInput& input : datasets) {
    if (input.name.empty() || input.digest.empty())
      return Error::invalid("a dataset has no name or no digest", "give both");
    TRY(check_text(input.name, kMostInputName, "the dataset's name"));
    TRY(check_text(input.digest, kMostInputName, "the dataset's digest"));
    if (input.schema.size() + input.profile.size() + input.source.size() > kMostInputBytes)
      return Error::of(Code::too_large, format("dataset {} describes itself in more than {} bytes",
                                               input.name, kMostInputBytes));
  }
  for (const ModelUse& model : models) TRY(check_key(model.model_id, "the model's id"));
  return {};
}

Result<void> write_inputs(db::Session& session, const std::string& run_id,
                          const std::vector<DatasetInput>& datasets,
                          const std::vector<ModelUse>& models_in,
                          const std::vector<ModelUse>& models_out) {
  for (size_t i = 0; i < datasets.size(); ++i) {
    const auto context = datasets[i].tags.find(std::string(kContextTag));
    TRY(insert(session, run_id, kDataset, datasets[i].name, datasets[i].digest, i,
               context == datasets[i].tags.end() ? "" : context->second, to_json(datasets[i])));
  }
  TRY(insert_models(session, run_id, kModelIn, models_in));
  return insert_models(session, run_id, kModelOut, models_out);
}

Result<void> read_inputs(db::Session& session, const std::string& run_id, TrackedRun& into) {
  into.inputs.clear();
  into.model_inputs.clear();
  into.model_outputs.clear();
  return session.query(
      "SELECT kind, name, body FROM run_inputs WHERE run_id = $1 ORDER BY kind, position, name",
      {run_id}, [&](const db::Row& row) -> Result<void> {
        if (row.text(0) == kDataset) {
          into.inputs.push_back(
              TRY(from_json<DatasetInput>(row.text(2), Origin::server, SIZE_MAX)));
          return {};
        }
        auto& models = row.text(0) == kModelIn ? into.model_inputs : into.model_outputs;
        models.push_back({std::string(row.text(1)), std::stoll(std::string(row.text(2)))});
        return {};
      });
}

Result<void> Tracking::log_inputs(const Identity& who, const std::string& run_id,
                                  const std::vector<DatasetInput>& datasets,
                                  const std::vector<ModelUse>& models) {
  TRY(check_inputs(datasets, models));
  TRY(state_->change_run(who, run_id, "run.inputs",
                         [&](db::Session& session, Run&) -> Result<void> {
                           TRY(State::check_active(session, run_id));
                           return write_inputs(session, run_id, datasets, models, {});
                         }));
  return {};
}

Result<void> Tracking::log_outputs(const Identity& who, const std::string& run_id,
                                   const std::vector<ModelUse>& models) {
  TRY(check_inputs({}, models));
  TRY(state_->change_run(who, run_id, "run.outputs",
                         [&](db::Session& session, Run&) -> Result<void> {
                           TRY(State::check_active(session, run_id));
                           return write_inputs(session, run_id, {}, {}, models);
                         }));
  return {};
}

}  // namespace control
}  // namespace hearth
