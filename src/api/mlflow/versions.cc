// model-versions/...
#include <algorithm>

#include "api/mlflow/filter.h"
#include "api/mlflow/limits.h"
#include "api/mlflow/paging.h"
#include "api/mlflow/places.h"
#include "api/mlflow/registry.h"

namespace hearth::api::mlflow {
namespace {

constexpr int64_t kUsualVersions = 10'000;
constexpr int64_t kMostVersions = 200'000;
constexpr int kMostDecodes = 10;

control::Records& records(Call& call) {
  return call.services.records;
}

std::string answer_version(const ModelVersion& version, const Model& model) {
  return json_object(
      [&](JsonObject& object) { write_version(object.member("model_version"), version, model); });
}

struct Named {
  Model model;
  ModelVersion version;
};
// The version that name and version name.
Result<Named> find(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  const int64_t number = TRY(version_number(args));
  const Error missing =
      Error::not_found(format("Model Version (name={}, version={}) not found", name, number));
  auto model = records(call).get_model(call.who, project_of(call), name);
  if (!model.ok() && model.error().code == Code::not_found) return missing;
  Named named{TRY(std::move(model)), {}};
  auto version =
      records(call).get_model_version(call.who, project_of(call), format("{}@{}", name, number));
  if (!version.ok() && version.error().code == Code::not_found) return missing;
  named.version = TRY(std::move(version));
  return named;
}

// --- where a version's files come from ----------------------------------------------------------

Error relative_source(const std::string& source) {
  return Error::invalid(
      format("Invalid model version source: '{}'. If supplying a source as an http, https, local "
             "file path, ftp, objectstore, or mlflow-artifacts uri, an absolute path must be "
             "provided without relative path references present. Please provide an absolute path.",
             source));
}

Result<void> check_remote(const std::string& source) {
  std::string plain = source;
  for (int i = 0; i < kMostDecodes; ++i) {
    auto decoded = net::percent_decode(plain, true);
    if (!decoded || *decoded == plain) break;
    plain = std::move(*decoded);
  }
  if (plain.find('\0') != std::string::npos) return relative_source(source);
  for (const std::string_view part : split(plain, '/'))
    if (part == ".." || part == ".") return relative_source(source);
  return {};
}

// "file:///a/b/../c/." -> "/a/c"
std::string local_path(std::string_view uri) {
  if (uri.starts_with("file:")) uri.remove_prefix(5);
  if (uri.starts_with("//localhost/")) uri.remove_prefix(11);
  while (uri.starts_with("//")) uri.remove_prefix(1);
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(uri, '/')) {
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
  }
  return format("/{}", join(parts, "/"));
}

bool is_local(std::string_view uri) {
  return scheme_of(uri).empty() || uri.starts_with("file:/");
}

// A path of a disk is only taken where a run or a logged model has its files there.
Result<void> check_local(Call& call, const std::string& source, const std::string& run_id,
                         const std::string& model_id) {
  if (source.starts_with("file://") && !source.starts_with("file:///") &&
      !source.starts_with("file://localhost/"))
    return Error::invalid(
        format("{} is not a valid remote uri. For remote access on windows, "
               "please consider using a different scheme such as SMB.",
               source));
  std::string root;
  if (!model_id.empty())
    root = TRY(records(call).get_logged_model(call.who, model_id)).artifact_location;
  else if (!run_id.empty())
    root =
        rooted(TRY(of_run(call.services.tracking.get_run(call.who, run_id), run_id)).artifact_uri,
               call.options.mlflow_artifact_root);
  if (!root.empty() && is_local(root)) {
    const std::string inside = local_path(source), outside = local_path(root);
    if (inside == outside || inside.starts_with(outside + "/")) return {};
  }
  const std::string_view what = model_id.empty() ? "run_id" : "model_id";
  return Error::invalid(
      format("Invalid model version source: '{}'. To use a local path as a model version source, "
             "the {} request parameter has to be specified and the local path has to be contained "
             "within the artifact directory of the run specified by the {}.",
             source, what, what));
}

// Models that a source names are followed to where their files lie.
Result<std::string> location_of(Call& call, const std::string& source) {
  if (!source.starts_with("models:/")) return std::string();
  const auto place = TRY(place_of_uri(call, source));
  if (!place) return std::string();
  if (place->holder.kind == control::FileHolder::Kind::logged_model)
    return TRY(records(call).get_logged_model(call.who, place->holder.id)).artifact_location;
  for (const ModelVersion& version :
       TRY(records(call).all_versions(call.who, place->holder.project, "", "")))
    if (version.id == place->holder.id) return files_of(version);
  return std::string();
}

// A logged model lists the versions made of it, in a tag that clients read.
Result<void> note_registration(Call& call, const std::string& model_id,
                               const ModelVersion& version) {
  constexpr std::string_view kTag = "mlflow.modelVersions";
  const auto model = TRY(records(call).get_logged_model(call.who, model_id));
  const std::string own =
      format(R"({{"name": {}, "version": {}}})", json_quote(version.model), version.number);
  std::string list = "[" + own + "]";
  if (const auto known = model.tags.find(std::string(kTag));
      known != model.tags.end() && known->second.ends_with("]") && known->second.size() > 2)
    list = known->second.substr(0, known->second.size() - 1) + ", " + own + "]";
  control::LoggedModelChange change;
  change.tags[std::string(kTag)] = list;
  TRY(records(call).change_logged_model(call.who, model_id, change));
  return {};
}

// --- calls --------------------------------------------------------------------------------------

Result<std::string> create(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("name"));
  control::NewModelVersion wanted;
  wanted.source = TRY(args.need_text("source"));
  wanted.run_id = TRY(args.text("run_id"));
  wanted.run_link = TRY(args.text("run_link"));
  wanted.description = TRY(args.text("description"));
  wanted.logged_model_id = TRY(args.text("model_id"));
  wanted.tags = TRY(registry_tags(args));
  TRY(model_named(call, name));
  // A prompt has no files, and a source that means nothing.
  const auto prompt = wanted.tags.find(std::string(kIsPrompt));
  const bool is_prompt = prompt != wanted.tags.end() && prompt->second == "true";
  if (!is_prompt) {
    if (is_local(wanted.source) || wanted.source.starts_with("file:"))
      TRY(check_local(call, wanted.source, wanted.run_id, wanted.logged_model_id));
    else
      TRY(check_remote(wanted.source));
    wanted.location = TRY(location_of(call, wanted.source));
    if (auto place = TRY(place_of_uri(call, wanted.source))) {
      wanted.files = std::move(place->holder);
      wanted.path = std::move(place->path);
    }
  }
  const std::string model_id = wanted.logged_model_id;
  if (wanted.run_id.empty() && wanted.files &&
      wanted.files->kind == control::FileHolder::Kind::logged_model)
    wanted.run_id = TRY(records(call).get_logged_model(call.who, wanted.files->id)).run_id;
  if (wanted.run_id.empty() && !model_id.empty())
    wanted.run_id = TRY(records(call).get_logged_model(call.who, model_id)).run_id;
  const ModelVersion version =
      TRY(records(call).create_model_version(call.who, project_of(call), name, std::move(wanted)));
  if (!is_prompt && !model_id.empty()) TRY(note_registration(call, model_id, version));
  return answer_version(version, TRY(model_named(call, name)));
}

Result<std::string> get(Call& call, const Fields& args) {
  const Named found = TRY(find(call, args));
  return answer_version(found.version, found.model);
}

Result<std::string> change(Call& call, const Fields& args, const control::VersionChange& change) {
  const Named found = TRY(find(call, args));
  const ModelVersion version = TRY(records(call).change_model_version(
      call.who, project_of(call), found.model.name, found.version.number, change));
  return answer_version(version, found.model);
}

Result<std::string> update(Call& call, const Fields& args) {
  control::VersionChange wanted;
  wanted.description = TRY(args.text("description"));
  return change(call, args, wanted);
}

Result<std::string> transition(Call& call, const Fields& args) {
  control::VersionChange wanted;
  wanted.stage = TRY(args.need_text("stage"));
  wanted.archive_others = TRY(args.boolean("archive_existing_versions"));
  return change(call, args, wanted);
}

Result<std::string> set_tag(Call& call, const Fields& args) {
  const std::string key = TRY(args.need_text("key"));
  const std::string value = TRY(args.text("value"));
  TRY(check_registry_tag(key, value));
  control::VersionChange wanted;
  wanted.tags[key] = value;
  TRY(change(call, args, wanted));
  return std::string("{}");
}

Result<std::string> delete_tag(Call& call, const Fields& args) {
  control::VersionChange wanted;
  wanted.tags[TRY(args.need_text("key"))] = std::nullopt;
  TRY(change(call, args, wanted));
  return std::string("{}");
}

Result<std::string> remove(Call& call, const Fields& args) {
  const Named found = TRY(find(call, args));
  TRY(records(call).delete_model_version(call.who, project_of(call), found.model.name,
                                         found.version.number));
  return std::string("{}");
}

Result<std::string> download_uri(Call& call, const Fields& args) {
  const Named found = TRY(find(call, args));
  return json_object(
      [&](JsonObject& object) { object.text("artifact_uri", files_of(found.version)); });
}

// --- search -------------------------------------------------------------------------------------

double number_of(const ModelVersion& version, const std::string& key) {
  if (key == "version_number") return static_cast<double>(version.number);
  const Time updated = version.updated_at.micros == 0 ? version.created_at : version.updated_at;
  return static_cast<double>(millis(key == "creation_timestamp" ? version.created_at : updated));
}

std::optional<std::string> text_of(const ModelVersion& version, const std::string& key) {
  if (key == "name") return version.model;
  if (key == "run_id") return version.run_id;
  if (key == "source_path") return version.source;
  return std::nullopt;
}

bool matches(const std::vector<control::Comparison>& filter, const ModelVersion& version) {
  for (const control::Comparison& one : filter) {
    if (one.column.side != control::Side::attribute) continue;
    const auto text = text_of(version, one.column.key);
    if (!(text ? holds(one, text) : holds(one, std::optional(number_of(version, one.column.key)))))
      return false;
  }
  return tags_hold(filter, version.tags);
}

bool before(const std::vector<control::Order>& order, const ModelVersion& a,
            const ModelVersion& b) {
  for (const control::Order& one : order) {
    const ModelVersion& first = one.descending ? b : a;
    const ModelVersion& second = one.descending ? a : b;
    const auto x = text_of(first, one.column.key), y = text_of(second, one.column.key);
    if (x != y) return x < y;
    if (x) continue;
    const double n = number_of(first, one.column.key), m = number_of(second, one.column.key);
    if (n != m) return n < m;
  }
  if (order.empty() && millis(a.updated_at) != millis(b.updated_at))
    return a.updated_at > b.updated_at;
  if (a.model != b.model) return a.model < b.model;
  return a.number > b.number;
}

Result<std::string> search(Call& call, const Fields& args) {
  const auto filter = TRY(parse_filter(TRY(args.text("filter")), Noun::model_version));
  const auto order = TRY(parse_order(TRY(args.texts("order_by")), Noun::model_version));
  const int64_t limit = TRY(args.integer("max_results")).value_or(kUsualVersions);
  if (limit < 1 || limit > kMostVersions)
    return Error::invalid(
        format("Invalid value for request parameter max_results. It must be at "
               "most {}, but got value {}",
               kMostVersions, limit));
  std::string name, run_id;
  for (const control::Comparison& one : filter) {
    if (one.column.side != control::Side::attribute || one.op != control::Compare::equal) continue;
    if (one.column.key == "name") name = one.text;
    if (one.column.key == "run_id") run_id = one.text;
  }
  auto versions = TRY(records(call).all_versions(call.who, project_of(call), name, run_id));
  std::erase_if(versions, [&](const ModelVersion& one) { return !matches(filter, one); });
  std::sort(versions.begin(), versions.end(),
            [&](const ModelVersion& a, const ModelVersion& b) { return before(order, a, b); });
  const auto page = TRY(page_of(std::move(versions), TRY(args.text("page_token")), limit,
                                [](const ModelVersion& version) { return version.id; }));
  std::map<std::string, Model> models;
  for (const ModelVersion& one : page.items)
    if (!models.contains(one.model)) models[one.model] = TRY(model_named(call, one.model));
  return json_object([&](JsonObject& object) {
    object.list("model_versions", page.items, [&](std::string& to, const ModelVersion& one) {
      write_version(to, one, models[one.model]);
    });
    object.some_text("next_page_token", page.next_token);
  });
}

}  // namespace

void add_version_calls(RouteTable& table) {
  add_json(table, "POST", "/model-versions/create", create);
  add_json(table, "GET", "/model-versions/get", get);
  add_json(table, "PATCH", "/model-versions/update", update);
  add_json(table, "DELETE", "/model-versions/delete", remove);
  add_json(table, "POST", "/model-versions/transition-stage", transition);
  add_json(table, "GET", "/model-versions/search", search);
  add_json(table, "GET", "/model-versions/get-download-uri", download_uri);
  add_json(table, "POST", "/model-versions/set-tag", set_tag);
  add_json(table, "DELETE", "/model-versions/delete-tag", delete_tag);
}

}  // namespace hearth::api::mlflow
