// Every route of the table against those who may not use it: a route that is added is tried too.
#include <set>

#include <gtest/gtest.h>

#include "api/route.h"
#include "api/world_test.h"
#include "control/records/views.h"
#include "db/tables.h"

namespace hearth::api {
namespace {

// Of no project, or of the caller alone: whoever is signed in may call these. Nothing of another's
// project may be in the answer.
const std::set<std::string_view> kForAll = {
    "getMetrics",       "getStatus",     "listNodes",    "deleteSession",   "getWhoAmI",
    "listTokens",       "createToken",   "listUsers",    "listProjects",    "listJobs",
    "listRuns",         "listModels",    "listDatasets", "listExperiments", "listDeliveries",
    "haveObjects",      "streamEvents",  "createUpload", "getUpload",       "appendUpload",
    "finishUpload",     "countImported", "listQuotas",   "listPools",       "getCluster",
    "listReservations", "getPool",       "getNode",      "getJobSchema",    "listTemplates",
    "listAudit",        "listViews",     "createView"};
// Of these, what every server answers alike.
const std::set<std::string_view> kOfTheProgram = {"getJobSchema", "listTemplates"};
// Of these, what changes nothing but what is the caller's own.
const std::set<std::string_view> kOwn = {"deleteSession", "createToken", "haveObjects",
                                         "countImported", "createView"};

// Bodies that must say something of their own; others get their required fields.
const std::map<std::string_view, std::string> kBodies = {
    {"createJob", R"({"yaml":"hearth: 1\nname: x\ncommand: a\n"})"},
    {"checkJob", R"({"yaml":"hearth: 1\nname: x\ncommand: a\n"})"},
    {"setLive", R"({"values":{"lr":1}})"},
    {"createUser", R"({"name":"eve"})"},
    {"createProject", R"({"name":"more"})"},
    {"createReservation",
     R"({"name":"r","from":"2030-01-01T00:00:00Z","until":"2030-01-02T00:00:00Z",)"
     R"("pool":"local","maintenance":true})"},
    {"setMember", R"({"role":"maintainer"})"},
    {"createSignInCode", R"({"user":"ann"})"},
    {"createUpload", format(R"({{"digest":"{}","size_bytes":4}})", sha256("mine"))},
    {"queryMetrics", R"({"runs":["none"]})"},
    {"importExperiment", R"({"name":"x"})"},
    {"importRun", R"({"id":"x","experiment_id":"none"})"},
    {"importLoggedModel", R"({"id":"m-x","experiment_id":"none"})"},
    {"countImported", R"({"ids":["none"]})"},
    {"syncTask", "{\"protocol\":1,\"epoch\":1}\n"},
};
const std::map<std::string_view, std::string> kQueries = {
    {"project", "default"}, {"key", "loss"},           {"re", "loss"},
    {"group_by", "status"}, {"thing", "model:tiny@1"}, {"wait_seconds", "0"}};

// As little JSON as the type is content with.
std::string minimal(const Type& type) {
  switch (type.kind) {
    case Kind::object: {
      std::string out;
      for (const Field& field : type.fields)
        if (field.is_required && !field.is_output_only)
          out += format("{}{}:{}", out.empty() ? "" : ",", json_quote(field.name),
                        minimal(*field.type));
      return "{" + out + "}";
    }
    case Kind::list:
      return "[]";
    case Kind::map:
      return "{\"a\":" + minimal(*type.item) + "}";
    case Kind::boolean:
      return "true";
    case Kind::integer:
    case Kind::real:
      return "1";
    case Kind::enumeration:
      return json_quote(type.words.back());
    default:
      return "\"x\"";
  }
}

bool changes(const Route& route) {
  return route.method != "GET";
}
bool has(const Route& route, std::string_view parameter) {
  return route.path.find(parameter) != std::string_view::npos;
}

class EveryRoute : public ApiTest {
 protected:
  // One of each thing, in the project default.
  void make_things() {
    start();
    things_["job"] = started(member_);
    const Task task = task_of(things_["job"]);
    things_["task"] = task.id;
    things_["run"] = task.run_id;
    const auto object = control::need(world_.objects->put("bytes"));
    world_.write([&](db::Session& session) -> Result<void> {
      Artifact artifact;
      artifact.id = new_id(world_.clock, system_random());
      artifact.run_id = task.run_id;
      artifact.project = "default";
      artifact.path = "plot.txt";
      artifact.digest = object.digest;
      artifact.size_bytes = object.size_bytes;
      TRY(db::Table<Artifact>::insert(session, artifact));
      TRY(db::pin(session, object.digest, "artifact:" + artifact.id, world_.clock.now()));
      Model model;
      model.id = new_id(world_.clock, system_random());
      model.name = "tiny";
      model.project = "default";
      model.versions = 1;
      TRY(db::Table<Model>::insert(session, model));
      ModelVersion version;
      version.id = new_id(world_.clock, system_random());
      version.model = "tiny";
      version.project = "default";
      version.number = 1;
      version.digest = object.digest;
      version.run_id = task.run_id;
      return db::Table<ModelVersion>::insert(session, version);
    });
    const Manifest manifest{{{"a.txt", object.digest, object.size_bytes}}};
    control::need(
        records_->add_dataset_version(world_.member, "default", "mnist", manifest, "", {}));
    control::need(world_.access->set_secret(world_.admin, "default", "KEY", "value"));
    Token wanted;
    wanted.name = "anns";
    things_["token"] = control::need(world_.access->add_token(world_.member, wanted)).token.id;
    SavedView view{.name = "x", .page = "runs", .project = "default", .shared = true};
    things_["view"] =
        control::need(control::Views(world_.context(), *world_.access).add(world_.member, view)).id;
    things_["upload"] = control::need(records_->begin_upload(world_.member, sha256("more"), 4)).id;
    things_.insert({{"node", jobs_->cluster_nodes().at(0).name},
                    {"pool", jobs_->cluster_nodes().at(0).pool},
                    {"reservation", "none"},
                    {"digest", object.digest},
                    {"path", "plot.txt"},
                    {"model", "tiny"},
                    {"dataset", "mnist"},
                    {"version", "1"},
                    {"alias", "best"},
                    {"project", "default"},
                    {"user", "ann"},
                    {"secret", "KEY"}});
  }
  // "GET /api/v1/jobs/01J...?project=default"
  std::string line(const Route& route) const {
    std::string out = format("{} ", route.method);
    for (const std::string_view part : split(route.path.substr(1), '/')) {
      const bool is_parameter = part.starts_with('{');
      const size_t tail = part.ends_with("*}") ? 3 : 2;
      out += "/";
      out += is_parameter ? things_.at(std::string(part.substr(1, part.size() - tail)))
                          : std::string(part);
    }
    char mark = '?';
    for (const QueryField& field : route.query_fields) {
      const auto value = kQueries.find(field.name);
      if (value == kQueries.end()) continue;
      // A list without a project shows what one may see of all.
      if (route.list && field.name == "project") continue;
      out += format("{}{}={}", mark, field.name, value->second);
      mark = '&';
    }
    return out;
  }
  static std::string body(const Route& route) {
    const auto found = kBodies.find(route.id);
    if (found != kBodies.end()) return found->second;
    if (route.body != nullptr) return minimal(*route.body);
    return changes(route) && route.method != "DELETE" ? "{}" : "";
  }
  static std::string headers(const Route& route) {
    const bool bytes = route.body == nullptr && !route.body_type.empty();
    std::string out = bytes ? format("Content-Type: {}\r\n", route.body_type) : "";
    if (route.id == "appendUpload") out += "Upload-Offset: 0\r\n";
    return out;
  }
  net::RawAnswer call(const std::string& token, const Route& route) {
    return as(token, line(route), body(route), headers(route));
  }

  std::map<std::string, std::string> things_;
};

TEST_F(EveryRoute, WantsAToken) {
  make_things();
  for (const auto& route : route_table().routes()) {
    SCOPED_TRACE(route->id);
    const auto none = ask(line(*route), headers(*route), body(*route));
    if (route->need == Need::open)
      EXPECT_NE(none.status, 403);
    else
      expect_problem(none, 401, "unauthenticated");
  }
}

TEST_F(EveryRoute, IsClosedToAnotherProject) {
  make_things();
  for (const auto& route : route_table().routes()) {
    if (route->need == Need::open) continue;
    SCOPED_TRACE(line(*route));
    if (!changes(*route)) {  // the request is right: who may, is answered
      const auto answer = call(admin_, *route);
      EXPECT_TRUE(answer.status < 300 || route->id == "getBackup") << answer.body;
    }
    const auto answer = call(stranger_, *route);
    if (!kForAll.contains(route->id)) {
      EXPECT_TRUE(answer.status == 403 || answer.status == 404)
          << answer.status << " " << answer.body;
      continue;
    }
    EXPECT_LT(answer.status, 500) << answer.body;
    if (kOfTheProgram.contains(route->id)) continue;
    for (const char* thing : {"job", "run", "task", "token", "view"})
      EXPECT_EQ(answer.body.find(things_[thing]), std::string::npos) << thing;
    for (const char* name : {"tiny", "mnist", "plot.txt", "\"ann\"", "KEY", "train-1"})
      EXPECT_EQ(answer.body.find(name), std::string::npos) << name;
  }
}

TEST_F(EveryRoute, ThatChangesIsClosedToAViewer) {
  make_things();
  for (const auto& route : route_table().routes()) {
    if (route->need == Need::open || !changes(*route) || kOwn.contains(route->id)) continue;
    SCOPED_TRACE(line(*route));
    const auto answer = call(viewer_, *route);
    EXPECT_TRUE(answer.status == 403 || answer.status == 404) << answer.status << answer.body;
  }
  EXPECT_EQ(as(member_, "GET /api/v1/jobs/" + things_["job"]).status, 200) << "nothing was deleted";
}

TEST_F(EveryRoute, OfAnotherJobIsClosedToATasksTokens) {
  make_things();
  const Task mine = task_of(started(member_));
  const std::string shim = task_token(mine, TokenKind::task);
  const std::string job = task_token(mine, TokenKind::job);
  for (const auto& route : route_table().routes()) {
    if (!has(*route, "{job}") && !has(*route, "{run}") && !has(*route, "{task}")) continue;
    SCOPED_TRACE(line(*route));
    const auto by_shim = call(shim, *route);
    EXPECT_TRUE(by_shim.status == 403 || by_shim.status == 404) << by_shim.status << by_shim.body;
    // A job may read its project, and change nothing in it but itself.
    const auto by_job = call(job, *route);
    if (changes(*route))
      EXPECT_TRUE(by_job.status == 403 || by_job.status == 404) << by_job.status << by_job.body;
    else
      EXPECT_EQ(by_job.status, 200) << by_job.body;
  }
  EXPECT_EQ(as(shim, "GET /api/v1/jobs?fields=id").body,
            format("{{\"items\":[{{\"id\":\"{}\"}}]}}", mine.job_id));
}

}  // namespace
}  // namespace hearth::api
