// What the parts of Records share.
#pragma once

#include "base/format.h"
#include "control/access/access.h"
#include "control/emit.h"
#include "control/records/records.h"
#include "control/references.h"

namespace hearth::control {

struct Records::State {
  State(Context c, Access& a, RecordsOptions o) : context(c), access(a), options(std::move(o)) {}

  // Named bounds.
  static constexpr int64_t kMostVersions = 10'000;   // of one model or dataset, in one answer
  static constexpr int64_t kMostArtifacts = 10'000;  // of one run, in one answer
  static constexpr int64_t kMostModels = 20'000;     // of one project, in one search
  static constexpr int64_t kMostFoundVersions = 200'000;

  static std::string project_of(const Identity& who, const std::string& project) {
    if (!project.empty()) return project;
    return who.project.empty() ? "default" : who.project;
  }
  // What the identity may not see is not there for it: then `missing` is the answer.
  Result<void> may(const Identity& who, const std::string& project, Grade least,
                   const Error& missing) {
    auto allowed = access.require(who, project, least);
    if (!allowed.ok() && allowed.error().code == Code::not_found) return missing;
    return allowed;
  }
  template <typename T>
  Result<db::ListPage<T>> list(const Identity& who, const std::string& project,
                               db::ListQuery query) {
    db::ListPage<T> page;
    if (!TRY(access.narrow(who, project, query))) return page;
    TRY(context.database.read([&](db::Session& session) -> Result<void> {
      page = TRY(db::Table<T>::list(session, query));
      return {};
    }));
    return page;
  }
  // A noun of a project by its name or id.
  template <typename T>
  static Result<T> by_name(db::Session& session, const std::string& project,
                           const std::string& name, std::string_view noun) {
    auto found = TRY(db::Table<T>::find(session, "WHERE project = $1 AND (name = $2 OR id = $2)",
                                        {project, name}));
    if (!found)
      return Error::not_found(format("there is no {} '{}' in project {}", noun, name, project),
                              format("`hearth {} list` shows those there are", noun));
    return std::move(*found);
  }

  static Result<Run> find_run(db::Session& session, const std::string& id_or_name,
                              const std::string& project);
  static Error missing_run(const std::string& id_or_name);
  // A run that this identity may read or change.
  Result<Run> run(const Identity& who, const std::string& id_or_name, const std::string& project,
                  Grade least);

  // The newest first, kMostVersions at most.
  static Result<std::vector<ModelVersion>> versions_of(db::Session& session,
                                                       const std::string& project,
                                                       const std::string& model);
  static Result<ModelVersion> find_model_version(db::Session& session, const std::string& project,
                                                 const std::string& reference);

  // Keeps objects under a holder, also those about to be collected. Inside a write.
  Result<void> keep(db::Session& session, const std::vector<std::string>& digests,
                    const std::string& holder);
  // The projects whose nouns name this object.
  static Result<std::vector<std::string>> projects_of_object(db::Session& session,
                                                             const std::string& digest);

  // Every file of a holder at or below a path. Its holder is one that may be seen.
  Result<std::vector<Artifact>> files_below(const FileHolder& holder, const std::string& path);
  // May it be written?
  Result<void> may_write(const Identity& who, const FileHolder& holder);

  struct NewVersion;  // of a dataset; datasets.cc

  Context context;
  Access& access;
  const RecordsOptions options;
};

// The object that stands for the files at a path: the file's own, or a manifest of them.
struct ModelBytes {
  std::string digest, file_name;
  bool directory = false;
  int64_t size_bytes = 0;
  std::vector<std::string> pins;
};
Result<ModelBytes> bytes_of(objects::Objects& objects, const std::vector<Artifact>& files,
                            const std::string& path);
// "production" and "Production" are one.
Result<std::string> stage_named(const std::string& text);

}  // namespace hearth::control
