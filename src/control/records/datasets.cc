// Datasets: immutable versions, each a manifest of files with digests.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/id.h"
#include "base/units.h"
#include "control/records/state.h"
#include "domain/pattern.h"

namespace hearth::control {
namespace {

constexpr size_t kPinsAtOnce = 2000;  // in one transaction: other writers wait behind it
constexpr size_t kMostTagsAtOnce = 32;
constexpr size_t kMostNamedMissing = 10;
constexpr std::string_view kName = "[a-z0-9][a-z0-9._-]{0,62}";

Error bad_file(size_t i, const std::string& found, std::string allowed) {
  Error error = Error::invalid(format("files[{}]: {}", i, found), "make the manifest again");
  error.errors.push_back(
      {format("manifest.files[{}]", i), 0, found, std::move(allowed), error.mend});
  return error;
}

// Sorted by path, none twice, no file where another has a directory.
Result<void> check_manifest(const Manifest& manifest) {
  if (manifest.files.empty())
    return Error::invalid("the manifest names no file", "add a directory with files");
  std::set<std::string_view> directories;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const ManifestFile& file = manifest.files[i];
    if (!is_plain_path(file.path))
      return bad_file(i, format("the path '{}'", file.path.substr(0, 80)),
                      "relative paths without '.', '..', empty parts and backslashes");
    if (!is_digest(file.digest))
      return bad_file(i, format("the digest '{}'", file.digest.substr(0, 80)),
                      "sha256: and 64 hex digits");
    if (file.size_bytes < 0) return bad_file(i, "a negative size", "a size from 0 on");
    if (i > 0 && manifest.files[i - 1].path >= file.path)
      return bad_file(i,
                      format("'{}' behind '{}'", file.path.substr(0, 80),
                             manifest.files[i - 1].path.substr(0, 80)),
                      "files sorted by path, none twice");
    for (size_t slash = file.path.find('/'); slash != std::string::npos;
         slash = file.path.find('/', slash + 1))
      directories.insert(std::string_view(file.path).substr(0, slash));
  }
  for (size_t i = 0; i < manifest.files.size(); ++i)
    if (directories.contains(manifest.files[i].path))
      return bad_file(i, format("'{}' as file and as directory", manifest.files[i].path),
                      "each path once");
  return {};
}

Result<void> check_place(const std::string& directory, const std::vector<std::string>& roots) {
  const std::filesystem::path path(directory);
  if (!path.is_absolute() || directory.find('\0') != std::string::npos)
    return Error::invalid(format("'{}' is no absolute path", directory.substr(0, 80)),
                          "give the directory from / on");
  if (lies_in(directory, roots)) return {};
  return Error::denied(format("'{}' lies outside the listed roots", directory),
                       "ask an admin to list its root, or add the dataset without --in-place");
}

Result<void> check_names(const std::string& name, const std::vector<std::string>& tags) {
  if (!pattern_matches(kName, name))
    return Error::invalid(format("'{}' cannot be a dataset's name", name.substr(0, 80)),
                          "use a-z, 0-9, '.', '_', '-', at most 63 characters");
  if (tags.size() > kMostTagsAtOnce)
    return Error::invalid(format("{} tags", tags.size()),
                          format("give at most {}", kMostTagsAtOnce));
  for (const std::string& tag : tags) TRY(check_version_word(tag, "a tag"));
  return {};
}

std::map<std::string, int64_t> sizes_of(const Manifest& manifest) {
  std::map<std::string, int64_t> sizes;
  for (const ManifestFile& file : manifest.files) sizes.emplace(file.digest, file.size_bytes);
  return sizes;
}

// Every object is here with the size that the manifest says.
Result<void> check_objects(objects::Objects& objects, const Manifest& manifest) {
  std::vector<std::string> missing;
  size_t missing_count = 0;
  for (const auto& [digest, size] : sizes_of(manifest)) {
    const auto have = TRY(objects.have(digest));
    if (have && *have == size) continue;
    ++missing_count;
    if (missing.size() < kMostNamedMissing) missing.push_back(digest);
  }
  if (missing_count == 0) return {};
  Error error =
      Error::invalid(format("{} of the files are not here, or have another size", missing_count),
                     "upload them, then make the version");
  for (const std::string& digest : missing)
    error.errors.push_back(
        {"manifest.files", 0, digest, "objects that are stored here", "upload it"});
  return error;
}

DatasetVersion version_of(Context& context, const Identity& who, const std::string& project,
                          const std::string& name, const Manifest& manifest,
                          const std::string& in_place) {
  DatasetVersion version;
  version.id = new_id(context.clock, context.random);
  version.dataset = name;
  version.project = project;
  version.in_place = in_place;
  version.file_count = static_cast<int64_t>(manifest.files.size());
  for (const ManifestFile& file : manifest.files) version.size_bytes += file.size_bytes;
  version.created_by = who.user.empty() ? who.job_id : who.user;
  version.created_at = context.clock.now();
  return version;
}

}  // namespace

// Makes a version exist: pins first and in portions, the rows last. What a crash leaves between is
// a pin without a version.
struct Records::State::NewVersion {
  State& state;
  const Identity& who;
  const std::vector<std::string>& tags;
  const DatasetVersion wanted;
  const std::vector<std::string> digests;  // to pin
  DatasetVersion version;                  // the answer
  const std::string holder = "dataset:" + wanted.id;

  Result<void> make() {
    db::Database& database = state.context.database;
    bool is_old = false;
    TRY(database.read([&](db::Session& session) -> Result<void> {
      is_old = TRY(same(session)).has_value();
      return {};
    }));
    size_t pinned = 0;
    for (; !is_old && digests.size() - pinned > kPinsAtOnce; pinned += kPinsAtOnce)
      TRY(database.write([&](db::Session& session) {
        return state.keep(session, portion(pinned, kPinsAtOnce), holder);
      }));
    return database.write([&](db::Session& session) -> Result<void> {
      version = wanted;
      if (TRY(reuse(session))) return {};
      TRY(state.keep(session, portion(pinned, digests.size()), holder));
      return insert(session);
    });
  }
  bool is_new() const { return version.id == wanted.id; }

  Result<void> undo() {
    return state.context.database.write([&](db::Session& session) -> Result<void> {
      TRY(db::unpin(session, holder));
      TRY(db::Table<DatasetVersion>::remove(session, wanted.id));
      return {};
    });
  }

 private:
  std::vector<std::string> portion(size_t from, size_t count) const {
    const size_t end = std::min(digests.size(), from + count);
    return {digests.begin() + static_cast<std::ptrdiff_t>(from),
            digests.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  // The version that has this manifest already.
  Result<std::optional<DatasetVersion>> same(db::Session& session) const {
    auto found = TRY(db::Table<DatasetVersion>::find(
        session,
        "WHERE project = $1 AND dataset = $2 AND manifest_digest = $3 ORDER BY number DESC LIMIT 1",
        {wanted.project, wanted.dataset, wanted.manifest_digest}));
    if (found && found->in_place != wanted.in_place) found.reset();
    return found;
  }

  Result<Dataset> dataset(db::Session& session) const {
    auto found = TRY(db::Table<Dataset>::find(session, "WHERE project = $1 AND name = $2",
                                              {wanted.project, wanted.dataset}));
    if (found) return std::move(*found);
    Dataset made;
    made.id = new_id(state.context.clock, state.context.random);
    made.name = wanted.dataset;
    made.project = wanted.project;
    made.created_by = wanted.created_by;
    made.created_at = wanted.created_at;
    TRY(db::Table<Dataset>::insert(session, made));
    return made;
  }

  Result<bool> reuse(db::Session& session) {
    auto found = TRY(same(session));
    if (!found) return false;
    version = std::move(*found);
    TRY(db::unpin(session, holder));  // portions of a version that another has made meanwhile
    Dataset row = TRY(dataset(session));
    if (!tag(row)) return true;
    TRY(db::Table<Dataset>::update(session, row));
    TRY(emit(session, state.context.clock, who.actor(), row.project, "dataset.tagged", row.id,
             row.version));
    return true;
  }

  Result<void> insert(db::Session& session) {
    Dataset row = TRY(dataset(session));
    version.number = ++row.versions;
    tag(row);
    TRY(db::Table<DatasetVersion>::insert(session, version));
    TRY(db::Table<Dataset>::update(session, row));
    TRY(emit(session, state.context.clock, who.actor(), row.project, "dataset.version_added",
             row.id, row.version, format(R"({{"number":{}}})", version.number)));
    return {};
  }

  bool tag(Dataset& row) const {
    const auto before = row.tags;
    for (const std::string& word : tags) row.tags[word] = std::to_string(version.number);
    return before != row.tags;
  }
};

Result<DatasetVersion> Records::add_dataset_version(const Identity& who, const std::string& project,
                                                    const std::string& name,
                                                    const Manifest& manifest,
                                                    const std::string& in_place,
                                                    const std::vector<std::string>& tags) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  TRY(check_names(name, tags));
  TRY(check_manifest(manifest));
  objects::Objects& objects = state_->context.objects;
  if (in_place.empty())
    TRY(check_objects(objects, manifest));
  else
    TRY(check_place(in_place, state_->options.path_roots));

  DatasetVersion wanted = version_of(state_->context, who, where, name, manifest, in_place);
  wanted.manifest_digest = TRY(objects.put(to_json(manifest))).digest;
  std::vector<std::string> digests{wanted.manifest_digest};
  if (in_place.empty())
    for (const auto& [digest, size] : sizes_of(manifest)) digests.push_back(digest);

  State::NewVersion made{*state_, who, tags, std::move(wanted), std::move(digests), {}};
  auto done = made.make();
  // Collected between the first look and the pins: then it is no version.
  if (done.ok() && made.is_new()) {
    if (!TRY(objects.have(made.wanted.manifest_digest)))
      done = Error::unavailable("the manifest was being collected", "try again");
    else if (in_place.empty())
      done = check_objects(objects, manifest);
  }
  if (!done.ok()) {
    TRY(made.undo());
    return done.error();
  }
  state_->context.signals.notify(kEventsTopic);
  return made.version;
}

Result<db::ListPage<Dataset>> Records::list_datasets(const Identity& who,
                                                     const std::string& project,
                                                     db::ListQuery query) {
  return state_->list<Dataset>(who, project, std::move(query));
}

Result<Dataset> Records::get_dataset(const Identity& who, const std::string& project,
                                     const std::string& name) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  Dataset dataset;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    dataset = TRY(State::by_name<Dataset>(session, where, name, "dataset"));
    return {};
  }));
  return dataset;
}

Result<std::vector<DatasetVersion>> Records::dataset_versions(const Identity& who,
                                                              const std::string& project,
                                                              const std::string& name) {
  const Dataset dataset = TRY(get_dataset(who, project, name));
  std::vector<DatasetVersion> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<DatasetVersion>::select(
        session, "WHERE project = $1 AND dataset = $2 ORDER BY number DESC LIMIT $3",
        {dataset.project, dataset.name, State::kMostVersions}));
    return {};
  }));
  return all;
}

Result<DatasetVersion> Records::get_dataset_version(const Identity& who, const std::string& project,
                                                    const std::string& reference) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  DatasetVersion version;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    version = TRY(find_dataset_version(session, where, reference));
    return {};
  }));
  return version;
}

Result<void> Records::delete_dataset(const Identity& who, const std::string& project,
                                     const std::string& name) {
  const Dataset seen = TRY(get_dataset(who, project, name));
  const bool is_own = !who.user.empty() && who.user == seen.created_by;
  TRY(state_->access.require(who, seen.project, is_own ? Grade::member : Grade::maintainer));
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    const Dataset dataset = TRY(State::by_name<Dataset>(session, seen.project, name, "dataset"));
    const auto versions = TRY(db::Table<DatasetVersion>::select(
        session, "WHERE project = $1 AND dataset = $2", {dataset.project, dataset.name}));
    for (const DatasetVersion& version : versions) {
      const auto user = TRY(db::Table<Job>::find(
          session,
          "WHERE state NOT IN ('succeeded', 'failed', 'cancelled') AND id IN (SELECT "
          "SUBSTR(holder, 5) FROM pins WHERE digest = $1 AND holder > 'job:' AND holder < 'job;') "
          "LIMIT 1",
          {version.manifest_digest}));
      if (user)
        return Error::conflict(
            format("job {} reads version {} of {}", user->name, version.number, dataset.name),
            format("wait for it, or `hearth job cancel {}`", user->name));
      TRY(db::unpin(session, "dataset:" + version.id));
      TRY(db::Table<DatasetVersion>::remove(session, version.id));
    }
    TRY(db::Table<Dataset>::remove(session, dataset.id));
    TRY(emit(session, state_->context.clock, who.actor(), dataset.project, "dataset.deleted",
             dataset.id, dataset.version + 1));
    return {};
  }));
  state_->context.signals.notify(kEventsTopic);
  return {};
}

}  // namespace hearth::control
