#include "api/answer.h"
#include "base/format.h"
#include "control/references.h"

namespace hearth::api {
namespace {

std::string media_type(const std::string& path) {
  static const std::map<std::string_view, const char*> types = {
      {"png", "image/png"},         {"jpg", "image/jpeg"},
      {"jpeg", "image/jpeg"},       {"gif", "image/gif"},
      {"json", "application/json"}, {"txt", "text/plain; charset=utf-8"},
      {"csv", "text/csv"},          {"log", "text/plain; charset=utf-8"}};
  const auto found = types.find(std::string_view(path).substr(path.rfind('.') + 1));
  return found == types.end() ? "application/octet-stream" : found->second;
}

// Whom the path names, by id or name.
Result<Run> run_of(const Call& call) {
  return call.services.records.get_run(call.who, call.at("run"), call.query("project"));
}

Result<net::Response> metrics(Call& call) {
  control::MetricQuery query;
  const Run run = TRY(run_of(call));
  query.run_id = run.id;
  query.key = call.query("key");
  query.most_points = TRY(call.query_integer("points", 2000, 0, 100'000));
  if (query.key.empty())
    return Error::invalid("the query parameter 'key' is missing", "give ?key=loss");
  MetricHistory history;
  history.key = query.key;
  for (const control::MetricPoint& point :
       TRY(call.services.records.metric_history(call.who, query)))
    history.points.push_back({point.step, point.time, point.value});
  return json(history);
}

void add_reading_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/experiments", "listExperiments", "runs", "Experiments",
           [](Call& call) -> Result<net::Response> {
             const auto page = TRY(call.services.records.list_experiments(
                 call.who, call.query("project"), TRY(call.list_query(type_of<Experiment>()))));
             return json_list(page.items, page.next_cursor);
           })
      .lists<Experiment>()
      .asks("project", "of this project alone")
      .pages();
  table
      .add("GET", "/api/v1/runs/{run}", "getRun", "runs", "One run, by id or name",
           [](Call& call) -> Result<net::Response> { return versioned(TRY(run_of(call))); })
      .answers<Run>()
      .asks("project", "whose name it is")
      .asks("fields", "only these members")
      .versioned();
}

void add_deleting_routes(RouteTable& table) {
  table
      .add("DELETE", "/api/v1/runs/{run}", "deleteRun", "runs",
           "Deletes it; it can be restored for as long as status.kept says",
           [](Call& call) -> Result<net::Response> {
             const Run run = TRY(run_of(call));
             if (!TRY(call.services.tracking.delete_run(call.who, run.id)))
               return Error::conflict(format("run {} ({}) is deleted already", run.name, run.id));
             return no_content();
           })
      .nothing()
      .asks("project", "whose name it is");
  table
      .add("POST", "/api/v1/runs/{run}/restore", "restoreRun", "runs", "A deleted one is back",
           [](Call& call) -> Result<net::Response> {
             const Run run = TRY(run_of(call));
             if (!TRY(call.services.tracking.restore_run(call.who, run.id)))
               return Error::conflict(format("run {} ({}) is not deleted", run.name, run.id),
                                      "name a deleted one by its id: ?deleted=true lists them");
             return versioned(TRY(call.services.records.get_run(call.who, run.id, run.project)));
           })
      .answers<Run>()
      .asks("project", "whose name it is");
}

void add_tag_routes(RouteTable& table) {
  table
      .add("PATCH", "/api/v1/runs/{run}/tags", "setRunTags", "runs", "Sets and takes away tags",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<TagsBody>());
             return versioned(
                 TRY(call.services.records.set_tags(call.who, call.at("run"), body.tags)));
           })
      .takes<TagsBody>()
      .answers<Run>();
  table
      .add(
          "GET", "/api/v1/lineage", "getLineage", "runs",
          "What a thing came from and what became of it",
          [](Call& call) -> Result<net::Response> {
            const std::string thing = call.query("thing");
            if (thing.empty())
              return Error::invalid("the query parameter 'thing' is missing",
                                    "give ?thing=model:NAME@3, dataset:NAME@2 or run:NAME");
            return json(TRY(call.services.records.lineage(call.who, call.query("project"), thing)));
          })
      .answers<Lineage>()
      .asks("thing", "dataset:NAME@2, model:NAME@3, run:NAME, job:NAME or sha256:...")
      .written_as(
          R"j({"type":"string","pattern":"^(?:(?:dataset|model|run|job|sha256):|[^:]+$)"})j")
      .must()
      .asks("project", "whose name it is");
}

void add_live_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/runs/{run}/live", "listLiveHistory", "runs",
           "Changes of its live parameters, the oldest first",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.records.live_history(call.who, call.at("run"),
                                                                     call.query("project"))));
           })
      .lists<LiveHistoryItem>()
      .asks("project", "whose name it is");
  table
      .add("PATCH", "/api/v1/runs/{run}/live", "setRunLive", "runs",
           "Changes live parameters while it runs",
           [](Call& call) -> Result<net::Response> {
             const Run run = TRY(run_of(call));
             if (run.job_id.empty())
               return Error::invalid(format("run {} was made by no job; nothing listens", run.name),
                                     "change it where it runs");
             std::vector<control::LiveChange> changes;
             for (auto& [name, value] : TRY(call.body<LiveBody>()).values)
               changes.push_back({name, value});
             TRY(call.services.jobs.set_live(call.who, run.job_id, changes));
             return json_list(TRY(call.services.records.live_history(call.who, run.id)));
           })
      .takes<LiveBody>()
      .lists<LiveHistoryItem>()
      .asks("project", "whose name it is");
}

void add_content_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/runs/{run}/metrics", "getMetricHistory", "runs", "A metric over steps",
           metrics)
      .answers<MetricHistory>()
      .asks("project", "whose name it is")
      .asks("key", "name of the metric")
      .must()
      .asks("points", "at most so many, extremes kept; 0: all", Kind::integer, "2000")
      .from(0, 100'000);
  table
      .add("GET", "/api/v1/runs/{run}/artifacts", "listArtifacts", "runs", "Its files",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.records.list_artifacts(call.who, call.at("run"))));
           })
      .lists<Artifact>();
  table
      .add("GET", "/api/v1/runs/{run}/artifacts/{path*}", "getArtifact", "runs", "One file",
           [](Call& call) -> Result<net::Response> {
             const std::string path = call.at("path");
             if (!control::is_plain_path(path))
               return Error::invalid(format("the path '{}' is not a plain relative one", path),
                                     "write it as dir/file");
             const Artifact artifact =
                 TRY(call.services.records.get_artifact(call.who, call.at("run"), path));
             const std::string file =
                 TRY(call.services.records.open_object(call.who, artifact.digest));
             return file_answer(call.request, file, artifact.digest, media_type(path),
                                path.substr(path.rfind('/') + 1));
           })
      .answers_bytes("*/*");
}

}  // namespace

void add_run_routes(RouteTable& table) {
  add_reading_routes(table);
  add_deleting_routes(table);
  add_tag_routes(table);
  add_live_routes(table);
  add_content_routes(table);
}

}  // namespace hearth::api
