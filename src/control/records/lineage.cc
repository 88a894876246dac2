// What a thing came from and what became of it, by the digests and ids in the rows.
#include <algorithm>
#include <deque>
#include <set>

#include "base/id.h"
#include "control/records/state.h"

namespace hearth::control {
namespace {

constexpr size_t kMostNodes = 1000;
constexpr int64_t kMostNeighbours = 200;  // of one node in one direction

// Walks from the asked thing up (what it came from) and down (what became of it); never down from
// what was reached upwards, or all of a project would be told.
class Walk {
 public:
  Walk(db::Session& session, const std::function<bool(const std::string& project)>& sees)
      : session_(session), sees_(sees) {}

  Result<Lineage> run(const LineageNode& root) {
    result_.root = root.key;
    add(root);
    for (const bool upwards : {true, false}) {
      std::deque<std::string> open{root.key};
      std::set<std::string> done;
      while (!open.empty() && !result_.cut) {
        const std::string key = open.front();
        open.pop_front();
        if (!done.insert(key).second) continue;
        const LineageNode node = *find(key);
        next_.clear();
        TRY(upwards ? up(node) : down(node));
        open.insert(open.end(), next_.begin(), next_.end());
      }
    }
    return std::move(result_);
  }

  static LineageNode node_of(const Run& run) {
    return {
        "run:" + run.id, "run", run.id, run.name, run.project, std::string(word(run.status)), "",
        run.created_at};
  }
  static LineageNode node_of(const ModelVersion& v) {
    return {"model:" + v.id, "model", v.id,     format("{}@{}", v.model, v.number),
            v.project,       "",      v.digest, v.created_at};
  }
  static LineageNode node_of(const DatasetVersion& v) {
    return {
        "dataset:" + v.id, "dataset",   v.id, format("{}@{}", v.dataset, v.number), v.project, "",
        v.manifest_digest, v.created_at};
  }

 private:
  LineageNode* find(const std::string& key) {
    for (LineageNode& node : result_.nodes)
      if (node.key == key) return &node;
    return nullptr;
  }
  bool add(const LineageNode& node) {
    if (find(node.key) != nullptr) return true;
    if (!node.project.empty() && !sees_(node.project)) return false;
    if (result_.nodes.size() >= kMostNodes) {
      result_.cut = true;
      return false;
    }
    result_.nodes.push_back(node);
    return true;
  }
  void link(const LineageNode& earlier, const LineageNode& later, const char* how, bool upwards) {
    if (!add(upwards ? earlier : later)) return;
    const LineageEdge edge{earlier.key, later.key, how};
    if (std::find(result_.edges.begin(), result_.edges.end(), edge) == result_.edges.end())
      result_.edges.push_back(edge);
    next_.push_back(upwards ? earlier.key : later.key);
  }
  template <typename T>
  Result<std::vector<T>> rows(std::string_view tail, const std::string& value) {
    auto all = TRY(
        db::Table<T>::select(session_, format("{} LIMIT {}", tail, kMostNeighbours + 1), {value}));
    if (all.size() > static_cast<size_t>(kMostNeighbours)) {
      all.pop_back();
      result_.cut = true;
    }
    return all;
  }

  Result<void> up(const LineageNode& node) {
    if (node.kind == "model") {
      const auto version = TRY(db::Table<ModelVersion>::get(session_, node.id));
      if (!version || version->run_id.empty()) return {};
      if (const auto run = TRY(db::Table<Run>::get(session_, version->run_id)))
        link(node_of(*run), node, "made", true);
      return {};
    }
    if (node.kind != "run") return {};
    const auto run = TRY(db::Table<Run>::get(session_, node.id));
    if (!run) return {};
    if (!run->code_digest.empty())
      link({"code:" + run->code_digest,
            "code",
            run->code_digest,
            "code",
            "",
            "",
            run->code_digest,
            {}},
           node, "ran", true);
    if (!run->git.commit.empty())
      link({"commit:" + run->git.commit,
            "commit",
            run->git.commit,
            run->git.dirty ? "commit with changes" : "commit",
            "",
            "",
            "",
            {}},
           node, "ran", true);
    for (const UsedDataset& used : run->datasets) TRY(up_to_dataset(node, run->project, used));
    return {};
  }

  Result<void> up_to_dataset(const LineageNode& node, const std::string& project,
                             const UsedDataset& used) {
    if (!used.path.empty()) {
      link({"path:" + used.path, "path", used.path, used.path, "", "", used.digest, {}}, node,
           "read", true);
      return {};
    }
    const auto version = TRY(db::Table<DatasetVersion>::find(
        session_, "WHERE project = $1 AND dataset = $2 AND manifest_digest = $3 LIMIT 1",
        {project, used.name, used.digest}));
    if (version)
      link(node_of(*version), node, "read", true);
    else  // deleted since; the run still says what it was
      link({"dataset:" + used.digest,
            "dataset",
            used.digest,
            format("{}@{}", used.name, used.version),
            project,
            "",
            used.digest,
            {}},
           node, "read", true);
    return {};
  }

  Result<void> down(const LineageNode& node) {
    if (node.kind == "run") {
      for (const ModelVersion& v :
           TRY(rows<ModelVersion>("WHERE run_id = $1 ORDER BY created_at", node.id)))
        link(node, node_of(v), "made", false);
      return {};
    }
    const char* prefix = node.kind == "dataset" ? "job:" : node.kind == "code" ? "code:" : nullptr;
    if (prefix == nullptr) return {};
    // A job pins the manifest of each dataset it reads, and its code.
    const std::string tail = format(
        "WHERE job_id IN (SELECT SUBSTR(holder, {}) FROM pins WHERE digest = $1 AND "
        "holder > '{}' AND holder < '{};') ORDER BY created_at",
        std::string_view(prefix).size() + 1, prefix,
        std::string_view(prefix).substr(0, std::string_view(prefix).size() - 1));
    for (const Run& run : TRY(rows<Run>(tail, node.digest)))
      link(node, node_of(run), node.kind == "code" ? "ran" : "read", false);
    return {};
  }

  db::Session& session_;
  const std::function<bool(const std::string& project)>& sees_;
  Lineage result_;
  std::vector<std::string> next_;
};

template <typename T>
Result<std::optional<T>> if_found(Result<T> result) {
  if (result.ok()) return std::optional<T>(std::move(result).value());
  if (result.error().code == Code::not_found) return std::optional<T>();
  return std::move(result).error();
}

// What there is with these bytes: a model, a version of a dataset, the run whose file it is, or
// code.
Result<std::vector<LineageNode>> of_digest(
    db::Session& session, const std::string& digest,
    const std::function<bool(const std::string& project)>& sees) {
  for (const ModelVersion& one : TRY(db::Table<ModelVersion>::select(
           session, "WHERE digest = $1 ORDER BY created_at DESC LIMIT 100", {digest})))
    if (sees(one.project)) return std::vector{Walk::node_of(one)};
  for (const DatasetVersion& one : TRY(db::Table<DatasetVersion>::select(
           session, "WHERE manifest_digest = $1 ORDER BY created_at DESC LIMIT 100", {digest})))
    if (sees(one.project)) return std::vector{Walk::node_of(one)};
  std::vector<std::string> jobs, artifacts;  // whose code it is, whose file
  TRY(session.query("SELECT holder FROM pins WHERE digest = $1 ORDER BY created_at DESC LIMIT 1000",
                    {digest}, [&](const db::Row& row) -> Result<void> {
                      const std::string holder(row.text(0));
                      if (holder.starts_with("code:")) jobs.push_back(holder.substr(5));
                      if (holder.starts_with("artifact:")) artifacts.push_back(holder.substr(9));
                      return {};
                    }));
  for (const std::string& id : jobs)
    if (const auto run = TRY(db::Table<Run>::find(session, "WHERE job_id = $1 LIMIT 1", {id}));
        run && sees(run->project))
      return std::vector<LineageNode>{
          {"code:" + digest, "code", digest, "code", "", "", digest, {}}};
  for (const std::string& id : artifacts) {
    const auto artifact = TRY(db::Table<Artifact>::get(session, id));
    if (!artifact || !sees(artifact->project)) continue;
    // Its holder: a run, a logged model or a version (files.cc).
    const std::string& holder = artifact->run_id;
    if (const auto version = TRY(db::Table<ModelVersion>::get(session, holder)))
      return std::vector{Walk::node_of(*version)};
    const auto logged = TRY(db::Table<LoggedModel>::get(session, holder));
    if (const auto run = TRY(db::Table<Run>::get(session, logged ? logged->run_id : holder)))
      return std::vector{Walk::node_of(*run)};
  }
  return std::vector<LineageNode>();
}

}  // namespace

Result<Lineage> Records::lineage(const Identity& who, const std::string& project,
                                 const std::string& thing) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  const auto visible = TRY(state_->access.visible_projects(who));
  const std::function<bool(const std::string&)> sees = [&](const std::string& name) {
    return !visible || std::find(visible->begin(), visible->end(), name) != visible->end();
  };
  size_t colon = thing.find(':');
  std::string kind = colon == std::string::npos ? "" : thing.substr(0, colon);
  const std::string name = colon == std::string::npos ? thing : thing.substr(colon + 1);
  if (kind == "sha256") kind = "code";
  for (const std::string_view known : {"", "dataset", "model", "run", "job", "code"})
    if (kind == known) colon = 0;
  if (colon != 0)
    return Error::invalid(format("'{}' is no kind of thing with a lineage", kind.substr(0, 80)),
                          "write dataset:NAME@2, model:NAME@3, run:NAME, job:NAME or sha256:...");
  const auto may_be = [&](std::string_view asked) { return kind.empty() || kind == asked; };

  Lineage result;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    std::vector<LineageNode> roots;
    if (may_be("dataset"))
      if (const auto v = TRY(if_found(find_dataset_version(session, where, name))))
        roots.push_back(Walk::node_of(*v));
    if (may_be("model"))
      if (const auto v = TRY(if_found(State::find_model_version(session, where, name))))
        roots.push_back(Walk::node_of(*v));
    if (may_be("run") || may_be("job")) {
      auto run = TRY(if_found(State::find_run(session, name, where)));
      if (!run && is_id(name))
        run = TRY(db::Table<Run>::find(session, "WHERE job_id = $1 ORDER BY created_at, id LIMIT 1",
                                       {name}));
      if (run && sees(run->project)) roots.push_back(Walk::node_of(*run));
    }
    if (kind == "code") roots = TRY(of_digest(session, thing, sees));
    if (roots.empty())
      return Error::not_found(format("there is no '{}' in project {}", thing.substr(0, 80), where),
                              "write dataset:NAME@2, model:NAME@3, run:NAME, job:NAME or "
                              "sha256:...");
    if (roots.size() > 1)
      return Error::invalid(
          format("'{}' is a {} and a {}", thing.substr(0, 80), roots[0].kind, roots[1].kind),
          format("write {}:{}", roots[0].kind, thing.substr(0, 80)));
    result = TRY(Walk(session, sees).run(roots[0]));
    return {};
  }));
  return result;
}

}  // namespace hearth::control
