// The registry: models, their versions, and where the versions' files lie now.
#include <algorithm>

#include "app/mlflow/mover.h"
#include "base/format.h"
#include "base/units.h"
#include "client/client.h"
#include "control/references.h"
#include "domain/model.h"

namespace hearth::app::mlflow {
namespace {

// "Staging" -> "Staging", "None" and "" -> "".
std::string stage_of(const std::string& stage) {
  return stage == "None" ? "" : stage;
}

std::string versions_path(const std::string& model) {
  return format("/api/v1/models/{}/versions", client::path_part(model));
}

// What stands behind `root` in `path`; nothing when it does not lie below.
std::optional<std::string> below(const std::string& path, const std::string& root) {
  if (root.empty() || !path.starts_with(root)) return std::nullopt;
  if (path.size() == root.size()) return std::string();
  if (path[root.size()] != '/') return std::nullopt;
  return path.substr(root.size() + 1);
}

}  // namespace

Result<void> Mover::move_models() {
  const bool all = options_.experiments.empty();
  for (ImportedModel& model : TRY(store_.models())) {
    const std::string name = model.name;
    auto versions = TRY(store_.versions(name));
    // Of some experiments: the versions that come from them.
    if (!all) {
      std::erase_if(versions, [&](const ImportedVersion& one) {
        return !moved_.contains(one.run_id) && !moved_.contains(one.logged_model_id);
      });
      if (versions.empty()) continue;
      std::erase_if(model.aliases, [&](const auto& alias) {
        return std::none_of(versions.begin(), versions.end(), [&](const ImportedVersion& one) {
          return std::to_string(one.number) == alias.second;
        });
      });
    }
    say("model " + name);
    auto done = move_model(std::move(model), std::move(versions));
    if (done.ok()) continue;
    if (ends(done.error())) return done;
    problem(std::move(done).error().with(format("model '{}'", name)));
  }
  return {};
}

Result<void> Mover::move_model(ImportedModel model, std::vector<ImportedVersion> versions) {
  ++tallies_.models.source;
  // One that cannot be had here does not keep the others away.
  std::erase_if(model.aliases, [&](const auto& alias) {
    auto fits = control::check_version_word(alias.first, "an alias");
    if (!fits.ok()) problem(std::move(fits).error().with(format("model '{}'", model.name)));
    return !fits.ok();
  });
  tallies_.versions.source += static_cast<int64_t>(versions.size());
  std::map<int64_t, ImportedVersion> sent;
  std::set<int64_t> new_ones;
  if (target_ != nullptr) {
    // Aliases name versions, so they come behind them.
    ImportedModel bare = model;
    bare.aliases.clear();
    TRY(target_->send<Model>("models", bare));
    for (const ImportedVersion& version : versions) new_ones.insert(version.number);
    for (const ModelVersion& there : TRY(target_->list<ModelVersion>(versions_path(model.name))))
      new_ones.erase(there.number);
  }
  for (ImportedVersion& version : versions) {
    version.location = TRY(place_of(version));
    if (target_ == nullptr) continue;
    auto made = target_->send<ModelVersion>("model-versions", version);
    if (!made.ok() && ends(made.error())) return std::move(made).error();
    if (!made.ok()) {
      problem(std::move(made).error().with(
          format("model '{}' version {}", model.name, version.number)));
      continue;
    }
    ++tallies_.versions.brought;
    sent[version.number] = std::move(version);
  }
  if (target_ == nullptr) return {};
  const Model made = TRY(target_->send<Model>("models", model));
  ++tallies_.models.brought;
  const auto contains = [](const auto& whole, const auto& some) {
    return std::all_of(some.begin(), some.end(), [&](const auto& pair) {
      const auto found = whole.find(pair.first);
      return found != whole.end();  // one that is here stays as it is
    });
  };
  if (contains(made.tags, model.tags) && contains(made.aliases, model.aliases))
    ++tallies_.models.verified;
  else
    problem(Error::internal(format("model '{}' is not as it was sent", model.name)));
  return verify_versions(model.name, sent, new_ones);
}

Result<void> Mover::verify_versions(const std::string& model,
                                    const std::map<int64_t, ImportedVersion>& sent,
                                    const std::set<int64_t>& new_ones) {
  for (const ModelVersion& found : TRY(target_->list<ModelVersion>(versions_path(model)))) {
    const auto wanted = sent.find(found.number);
    if (wanted == sent.end()) continue;
    const ImportedVersion& version = wanted->second;
    const bool same = found.source == version.source && found.run_id == version.run_id;
    // What was here before may have been changed here.
    const bool as_sent = found.tags == version.tags && found.stage == stage_of(version.stage) &&
                         found.description == version.description;
    if (same && (as_sent || !new_ones.contains(found.number)))
      ++tallies_.versions.verified;
    else
      problem(Error::internal(
          format("model '{}' version {} is not as it was sent", model, found.number)));
  }
  return {};
}

Result<std::string> Mover::place_of(const ImportedVersion& version) {
  std::string seen;
  for (const std::string& uri : {version.location, version.source}) {
    if (uri.empty()) continue;
    seen = uri;
    const std::string scheme = scheme_of(uri);
    if (scheme == "runs" || scheme == "models") {
      std::string path = uri.substr(scheme.size() + 1);
      while (path.starts_with('/')) path = path.substr(1);
      if (moved_.contains(path.substr(0, path.find('/')))) return scheme + ":/" + path;
      continue;
    }
    const std::string path = path_of_uri(uri);
    // Below the files of its run or its logged model, wherever these were.
    for (const std::string& id : {version.run_id, version.logged_model_id}) {
      const auto holder = moved_.find(id);
      if (holder == moved_.end() || !holder->second.has_files) continue;
      const std::string name = (id.starts_with("m-") ? "models:/" : "runs:/") + id;
      if (const auto rest = below(path, path_of_uri(holder->second.artifact_uri)))
        return rest->empty() ? name : name + "/" + *rest;
    }
    // .../RUN/artifacts/PATH, as MLflow lays files out.
    const auto parts = split(path, '/');
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto holder = moved_.find(std::string(parts[i]));
      if (parts[i + 1] != "artifacts" || holder == moved_.end() || !holder->second.has_files)
        continue;
      const std::string name =
          format("{}{}", parts[i].starts_with("m-") ? "models:/" : "runs:/", parts[i]);
      const auto behind = parts.begin() + static_cast<std::ptrdiff_t>(i) + 2;
      return behind == parts.end() ? name : format("{}/{}", name, join(behind, parts.end(), "/"));
    }
  }
  // A prompt has no files, and a source that means nothing.
  const auto prompt = version.tags.find("mlflow.prompt.is_prompt");
  if (!seen.empty() && prompt == version.tags.end())
    note_elsewhere(
        format("model {} version {}: its files lie at {}", version.model, version.number, seen));
  return std::string();
}

}  // namespace hearth::app::mlflow
