// Files of runs, logged models and model versions, by path. Bytes are objects; a row gives one its
// path and pins it.
#include "base/id.h"
#include "control/records/state.h"

namespace hearth::control {
namespace {

constexpr size_t kMostPathBytes = 4096;
constexpr size_t kMostManifestBytes = 64 << 20;

std::string loose_id(const std::string& project) {
  return "project:" + project;
}

Error no_file(const std::string& path) {
  return Error::not_found(format("there is no file '{}'", path));
}

Result<void> check_path(const std::string& path) {
  if (path.size() > kMostPathBytes)
    return Error::invalid(format("a path has at most {} bytes", kMostPathBytes));
  for (const std::string_view part : split(path, '/'))
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos)
      return Error::invalid(format("the path '{}' is not a plain relative one", path));
  return {};
}

// A file cannot lie where a directory does, nor the other way round.
Result<void> check_place(db::Session& session, const std::string& holder, const std::string& path) {
  std::string clash;
  const auto note = [&](const db::Row& row) -> Result<void> {
    clash = row.text(0);
    return {};
  };
  TRY(session.query(
      "SELECT path FROM artifacts WHERE run_id = $1 AND path > $2 AND path < $3 LIMIT 1",
      {holder, path + "/", path + "0"}, note));
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    TRY(session.query("SELECT path FROM artifacts WHERE run_id = $1 AND path = $2",
                      {holder, path.substr(0, slash)}, note));
  if (clash.empty()) return {};
  return Error::invalid(format("'{}' cannot be a file beside '{}'", path, clash));
}

Artifact file_of(const FileHolder& holder, const ManifestFile& file) {
  Artifact artifact;
  artifact.run_id = holder.id;
  artifact.project = holder.project;
  artifact.path = file.path;
  artifact.digest = file.digest;
  artifact.kind = "file";
  artifact.size_bytes = file.size_bytes;
  return artifact;
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory.empty() || path == directory || path.starts_with(directory + "/");
}

}  // namespace

Result<FileHolder> Records::file_holder(const Identity& who, const std::string& id) {
  FileHolder holder{FileHolder::Kind::run, id, ""};
  std::string job;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    if (const auto run = TRY(db::Table<Run>::get(session, id))) {
      holder.project = run->project;
      job = run->job_id;
    } else if (const auto model = TRY(db::Table<LoggedModel>::get(session, id))) {
      holder.kind = FileHolder::Kind::logged_model;
      holder.project = model->project;
    } else if (const auto version = TRY(db::Table<ModelVersion>::get(session, id))) {
      holder.kind = FileHolder::Kind::model_version;
      holder.project = version->project;
    }
    return {};
  }));
  const Error missing = Error::not_found(format("nothing with files is called '{}'", id));
  if (holder.project.empty()) return missing;
  if (who.kind == TokenKind::task && who.job_id != job) return missing;
  TRY(state_->may(who, holder.project, Grade::viewer, missing));
  return holder;
}

Result<FileHolder> Records::loose_files(const Identity& who, const std::string& project) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  return FileHolder{FileHolder::Kind::project, loose_id(where), where};
}

Result<void> Records::State::may_write(const Identity& who, const FileHolder& holder) {
  TRY(access.require(who, holder.project, Grade::member));
  if (holder.kind == FileHolder::Kind::model_version)
    return Error::denied("a model's version keeps the files it was made of", "make a new version");
  if (who.job_id.empty()) return {};
  std::string owner;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    if (holder.kind == FileHolder::Kind::run)
      owner = TRY(db::Table<Run>::need(session, holder.id)).job_id;
    else if (holder.kind == FileHolder::Kind::logged_model)
      owner = TRY(db::Table<LoggedModel>::need(session, holder.id)).created_by;
    return {};
  }));
  if (owner != who.job_id)
    return Error::denied("a job's token changes only files of its own runs and models");
  return {};
}

Result<Artifact> Records::put_file(const Identity& who, const FileHolder& holder,
                                   const std::string& path, const std::string& file) {
  TRY(check_path(path));
  TRY(state_->may_write(who, holder));
  Context& context = state_->context;
  const objects::Stored stored =
      file.empty() ? TRY(context.objects.put("")) : TRY(context.objects.put_file(file, "", true));
  Artifact artifact;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    TRY(check_place(session, holder.id, path));
    auto found = TRY(
        db::Table<Artifact>::find(session, "WHERE run_id = $1 AND path = $2", {holder.id, path}));
    const bool is_new = !found;
    artifact = found.value_or(Artifact{});
    artifact.digest = stored.digest;
    artifact.kind = "file";
    artifact.size_bytes = stored.size_bytes;
    artifact.created_at = context.clock.now();
    if (is_new) {
      artifact.id = new_id(context.clock, context.random);
      artifact.run_id = holder.id;
      artifact.project = holder.project;
      artifact.path = path;
      TRY(db::Table<Artifact>::insert(session, artifact));
    } else {
      TRY(db::Table<Artifact>::update(session, artifact));
      TRY(db::unpin(session, "artifact:" + artifact.id));
    }
    TRY(state_->keep(session, {stored.digest}, "artifact:" + artifact.id));
    TRY(emit(session, context.clock, who.actor(), holder.project,
             is_new ? "artifact.added" : "artifact.changed", artifact.id, artifact.version,
             format(R"({{"run_id":{},"path":{},"size_bytes":{}}})", json_quote(holder.id),
                    json_quote(path), artifact.size_bytes)));
    return {};
  }));
  // Between storing and pinning it may have been collected, being nobody's.
  if (!TRY(context.objects.have(stored.digest)))
    return Error::unavailable(format("the bytes of '{}' were being collected", path),
                              "send them again");
  context.signals.notify(kEventsTopic);
  context.signals.notify(run_topic(holder.id));
  return artifact;
}

Result<std::vector<Artifact>> Records::State::files_below(const FileHolder& holder,
                                                          const std::string& path) {
  std::vector<Artifact> all;
  ModelVersion version;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    all.clear();
    if (holder.kind == FileHolder::Kind::model_version) {
      version = TRY(db::Table<ModelVersion>::need(session, holder.id));
      return {};
    }
    if (path.empty()) {
      all = TRY(db::Table<Artifact>::select(session, "WHERE run_id = $1 ORDER BY path LIMIT $2",
                                            {holder.id, kMostHeldFiles + 1}));
      return {};
    }
    all = TRY(db::Table<Artifact>::select(
        session,
        "WHERE run_id = $1 AND (path = $2 OR (path > $3 AND path < $4)) ORDER BY path LIMIT $5",
        {holder.id, path, path + "/", path + "0", kMostHeldFiles + 1}));
    return {};
  }));
  if (all.size() > static_cast<size_t>(kMostHeldFiles))
    return Error::of(Code::too_large,
                     format("there are more than {} files of {}", kMostHeldFiles, holder.id),
                     "ask for a directory of it");
  if (version.id.empty() || version.digest.empty()) return all;
  Manifest manifest;
  if (version.directory) {
    const std::string text = TRY(context.objects.get(version.digest, 0, -1));
    manifest = TRY(from_json<Manifest>(text, Origin::server, kMostManifestBytes));
  } else {
    const std::string name = version.file_name.substr(version.file_name.rfind('/') + 1);
    manifest.files.push_back(
        {name.empty() ? "model" : name, version.digest, version.size_bytes, 0, false});
  }
  for (const ManifestFile& file : manifest.files)
    if (is_below(file.path, path)) all.push_back(file_of(holder, file));
  return all;
}

Result<Artifact> Records::get_file(const Identity& who, const FileHolder& holder,
                                   const std::string& path) {
  TRY(state_->access.require(who, holder.project, Grade::viewer));
  for (Artifact& file : TRY(state_->files_below(holder, path)))
    if (file.path == path) return std::move(file);
  return no_file(path);
}

Result<std::vector<Artifact>> Records::all_files(const Identity& who, const FileHolder& holder) {
  TRY(state_->access.require(who, holder.project, Grade::viewer));
  return state_->files_below(holder, "");
}

Result<std::vector<FileEntry>> Records::list_files(const Identity& who, const FileHolder& holder,
                                                   const std::string& directory) {
  TRY(state_->access.require(who, holder.project, Grade::viewer));
  std::map<std::string, FileEntry> entries;
  const size_t skip = directory.empty() ? 0 : directory.size() + 1;
  for (const Artifact& file : TRY(state_->files_below(holder, directory))) {
    if (file.path.size() < skip) continue;  // the path is a file itself
    const std::string rest = file.path.substr(skip);
    const size_t slash = rest.find('/');
    FileEntry entry{rest.substr(0, slash), slash != std::string::npos, file.size_bytes};
    if (entry.directory) entry.size_bytes = 0;
    entries.emplace(entry.name, entry);
  }
  std::vector<FileEntry> all;
  for (auto& [name, entry] : entries) all.push_back(std::move(entry));
  return all;
}

Result<int64_t> Records::delete_files(const Identity& who, const FileHolder& holder,
                                      const std::string& path) {
  TRY(state_->may_write(who, holder));
  const auto files = TRY(state_->files_below(holder, path));
  if (files.empty()) return int64_t{0};
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    for (const Artifact& file : files) {
      TRY(db::unpin(session, "artifact:" + file.id));
      TRY(db::Table<Artifact>::remove(session, file.id));
    }
    TRY(emit(session, state_->context.clock, who.actor(), holder.project, "artifact.deleted",
             holder.id, 0, format(R"({{"path":{},"files":{}}})", json_quote(path), files.size())));
    return {};
  }));
  state_->context.signals.notify(kEventsTopic);
  state_->context.signals.notify(run_topic(holder.id));
  return static_cast<int64_t>(files.size());
}

}  // namespace hearth::control
