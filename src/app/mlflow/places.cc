#include "app/mlflow/places.h"

#include <filesystem>

#include "base/format.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::app::mlflow {
namespace {

bool is_directory(const std::string& path) {
  const auto status = os::status(path);
  return status.ok() && S_ISDIR(status->st_mode);
}

// EXPERIMENT/RUN/artifacts, as MLflow lays files out below a root.
std::string usual_path(const Holder& holder) {
  return holder.kind == Holder::Kind::logged_model
             ? format("{}/models/{}/artifacts", holder.experiment_id, holder.id)
             : format("{}/{}/artifacts", holder.experiment_id, holder.id);
}

// Behind "mlflow-artifacts:/" or "mlflow-artifacts://host/".
std::string proxied_path(std::string uri) {
  uri = uri.substr(uri.find(':') + 1);
  if (uri.starts_with("//")) uri = uri.substr(std::min(uri.find('/', 2), uri.size()));
  while (uri.starts_with('/')) uri = uri.substr(1);
  return uri;
}

// A link inside the directory is followed, one that leads out of it, over however many links, is
// not. `real_root` is the root without links.
Result<std::optional<StoreFile>> entry(const std::string& root, const std::string& real_root,
                                       const os::Found& found) {
  const std::string path = root + "/" + found.path;
  if (found.kind == os::EntryKind::symlink) {
    std::error_code failed;
    const std::string target = std::filesystem::canonical(path, failed).string();
    if (failed) return Error::invalid(format("{} is a link that leads nowhere", path));
    if (!target.starts_with(real_root.ends_with('/') ? real_root : real_root + "/"))
      return Error::invalid(format("{} is a link that leads out of the run's files", path),
                            "put the file itself there");
  }
  const auto status = TRY(os::status(path));
  if (!S_ISREG(status.st_mode))
    return Error::invalid(format("{} is no regular file", path), "put a file there");
  return std::optional(StoreFile{found.path, status.st_size});
}

}  // namespace

bool Places::reaches(const std::string& uri) {
  const std::string scheme = scheme_of(uri);
  return scheme.empty() || scheme == "file" || scheme == "mlflow-artifacts";
}

std::string Places::directory_of(const Holder& holder) const {
  const bool proxied = scheme_of(holder.uri) == "mlflow-artifacts";
  if (!proxied && !holder.uri.empty()) {
    const std::string path = path_of_uri(holder.uri);
    if (path.starts_with('/') && is_directory(path)) return path;
    if (!path.starts_with('/') && is_directory(base_ + "/" + path)) return base_ + "/" + path;
  }
  for (const std::string& root : roots_) {
    if (proxied && is_directory(root + "/" + proxied_path(holder.uri)))
      return root + "/" + proxied_path(holder.uri);
    if (holder.kind != Holder::Kind::version && is_directory(root + "/" + usual_path(holder)))
      return root + "/" + usual_path(holder);
  }
  return "";
}

Result<FileList> Places::files(const Holder& holder,
                               const std::function<void(Error)>& problem) const {
  FileList list;
  if (!reaches(holder.uri)) {
    list.elsewhere = format("they lie at {}", holder.uri);
    return list;
  }
  const std::string root = directory_of(holder);
  if (root.empty()) {
    // A run without files has no directory; one whose experiment has none lies somewhere else.
    const std::string path = path_of_uri(holder.uri);
    const bool known = path.starts_with('/') && is_directory(os::parent_of(os::parent_of(path)));
    if (!known && !holder.uri.empty())
      list.elsewhere = format("there is no directory {} on this machine", holder.uri);
    return list;
  }
  std::error_code failed;
  const std::string real_root = std::filesystem::canonical(root, failed).string();
  if (failed) return Error::unavailable(format("{}: {}", root, failed.message()));
  TRY(os::walk(root, [&](const os::Found& found) -> Result<bool> {
    if (found.kind == os::EntryKind::directory) return true;
    auto file = entry(root, real_root, found);
    if (!file.ok())
      problem(std::move(file).error());
    else if (*file)
      list.files.push_back(std::move(**file));
    return false;
  }));
  return list;
}

Result<Fetched> Places::fetch(const Holder& holder, const StoreFile& file) const {
  const std::string root = directory_of(holder);
  if (root.empty()) return Error::not_found(format("{} is gone", holder.uri));
  return Fetched{root + "/" + file.path, false};
}

}  // namespace hearth::app::mlflow
