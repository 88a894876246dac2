#include "api/answer.h"

namespace hearth::api {
namespace {

std::string project_of(const Call& call) {
  const std::string project = call.query("project");
  if (!project.empty()) return project;
  return call.who.project.empty() ? "default" : call.who.project;
}

}  // namespace

void add_model_routes(RouteTable& table) {
  constexpr std::string_view kProject = "whose it is; default: default";
  table
      .add("GET", "/api/v1/models", "listModels", "models", "Models",
           [](Call& call) -> Result<net::Response> {
             const auto page = TRY(call.services.records.list_models(
                 call.who, call.query("project"), TRY(call.list_query(type_of<Model>()))));
             return json_list(page.items, page.next_cursor);
           })
      .lists<Model>()
      .asks("project", "of this project alone")
      .pages();
  table
      .add("GET", "/api/v1/models/{model}", "getModel", "models", "One model",
           [](Call& call) -> Result<net::Response> {
             return versioned(TRY(
                 call.services.records.get_model(call.who, project_of(call), call.at("model"))));
           })
      .answers<Model>()
      .asks("project", kProject)
      .versioned();
  table
      .add("GET", "/api/v1/models/{model}/versions", "listModelVersions", "models", "Its versions",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.records.model_versions(call.who, project_of(call),
                                                                       call.at("model"))));
           })
      .lists<ModelVersion>()
      .asks("project", kProject);
  table
      .add("GET", "/api/v1/models/{model}/versions/{version}", "getModelVersion", "models",
           "One version, by number or alias",
           [](Call& call) -> Result<net::Response> {
             return versioned(TRY(call.services.records.get_model_version(
                 call.who, project_of(call), call.at("model") + "@" + call.at("version"))));
           })
      .answers<ModelVersion>()
      .asks("project", kProject);
  table
      .add("PUT", "/api/v1/models/{model}/aliases/{alias}", "setModelAlias", "models",
           "Points an alias at a version",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<AliasBody>());
             return versioned(TRY(call.services.records.set_alias(
                 call.who, project_of(call), call.at("model"), call.at("alias"), body.number)));
           })
      .takes<AliasBody>()
      .answers<Model>()
      .asks("project", kProject);
}

void add_dataset_routes(RouteTable& table) {
  constexpr std::string_view kProject = "whose it is; default: default";
  table
      .add("GET", "/api/v1/datasets", "listDatasets", "datasets", "Datasets",
           [](Call& call) -> Result<net::Response> {
             const auto page = TRY(call.services.records.list_datasets(
                 call.who, call.query("project"), TRY(call.list_query(type_of<Dataset>()))));
             return json_list(page.items, page.next_cursor);
           })
      .lists<Dataset>()
      .asks("project", "of this project alone")
      .pages();
  table
      .add("GET", "/api/v1/datasets/{dataset}", "getDataset", "datasets", "One dataset",
           [](Call& call) -> Result<net::Response> {
             return versioned(TRY(call.services.records.get_dataset(call.who, project_of(call),
                                                                    call.at("dataset"))));
           })
      .answers<Dataset>()
      .asks("project", kProject)
      .versioned();
  table
      .add("DELETE", "/api/v1/datasets/{dataset}", "deleteDataset", "datasets",
           "Deletes it with its versions",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.records.delete_dataset(call.who, project_of(call),
                                                      call.at("dataset")));
             return no_content();
           })
      .nothing()
      .asks("project", kProject);
  table
      .add("GET", "/api/v1/datasets/{dataset}/versions", "listDatasetVersions", "datasets",
           "Its versions",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.records.dataset_versions(call.who, project_of(call),
                                                                         call.at("dataset"))));
           })
      .lists<DatasetVersion>()
      .asks("project", kProject);
  table
      .add("POST", "/api/v1/datasets/{dataset}/versions", "createDatasetVersion", "datasets",
           "A new version from a manifest whose objects are here",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<DatasetVersionBody>());
             return versioned(TRY(call.services.records.add_dataset_version(
                                  call.who, project_of(call), call.at("dataset"), body.manifest,
                                  body.in_place, body.tags)),
                              201);
           })
      .takes<DatasetVersionBody>()
      .takes_bytes("", 256 << 20)
      .answers<DatasetVersion>(201)
      .asks("project", kProject)
      .makes();
  table
      .add("GET", "/api/v1/datasets/{dataset}/versions/{version}", "getDatasetVersion", "datasets",
           "One version, by number or tag",
           [](Call& call) -> Result<net::Response> {
             return versioned(TRY(call.services.records.get_dataset_version(
                 call.who, project_of(call), call.at("dataset") + "@" + call.at("version"))));
           })
      .answers<DatasetVersion>()
      .asks("project", kProject);
}

}  // namespace hearth::api
