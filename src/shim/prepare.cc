#include "shim/prepare.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/codec.h"
#include "domain/dataset.h"
#include "os/archive.h"
#include "os/files.h"
#include "os/paths.h"
#include "os/system.h"
#include "shim/gang.h"
#include "shim/variables.h"

namespace hearth::shim {
namespace {

constexpr int64_t kMostManifestBytes = int64_t{1} << 30;
constexpr size_t kBufferBytes = 1 << 20;

Result<std::string> digest_of(const std::string& path, const std::function<bool()>& keep_on) {
  os::File file = TRY(os::File::open_read(path));
  Sha256 hash;
  Bytes buffer(kBufferBytes);
  for (;;) {
    if (!keep_on()) return Error::of(Code::gone, format("reading {} was ended", path));
    const size_t got = TRY(file.read(buffer));
    if (got == 0) return hash.finish_text();
    hash.update(std::span<const std::byte>(buffer).first(got));
  }
}

class Preparer {
 public:
  Preparer(const TaskSpec& spec, const Layout& layout, const ShimOptions& options,
           const std::function<bool(Duration)>& keep_on)
      : spec_(spec), layout_(layout), options_(options), keep_on_(keep_on), link_(spec) {}

  Result<PreparedTask> run() {
    // What an attempt that died while preparing left behind.
    TRY(os::remove_tree(layout_.work()));
    TRY(os::remove_tree(layout_.temporary()));
    TRY(os::make_directory(layout_.work(), 0700));
    TRY(os::make_directory(layout_.temporary(), 0700));
    TRY(code());
    for (const TaskDataset& dataset : spec_.datasets) TRY(data(dataset));
    TRY(checkpoints());
    TRY(parameters());
    TRY(command());
    if (spec_.uid >= 0) TRY(hand_over());
    if (!spec_.environment.prefix.empty() && !os::exists(spec_.environment.prefix + "/bin"))
      return Error::not_found(
          format("environment.prefix {} has no bin folder on this node", spec_.environment.prefix),
          "give the directory of a venv or conda environment");
    describe_machine();
    return std::move(prepared_);
  }

 private:
  // Into the new file `to`: from the object store on this node, else from the server. An order to
  // stop ends it, however large it is.
  Result<void> fetch(const std::string& digest, const std::string& to) {
    if (!is_digest(digest)) return Error::invalid(format("'{}' is no digest", digest));
    const auto keep_on = [this] { return keep_on_({}); };
    if (!spec_.objects_directory.empty()) {
      const std::string hex = digest.substr(7);
      const auto copied =
          os::copy_file(format("{}/{}/{}", spec_.objects_directory, hex.substr(0, 2), hex), to,
                        os::Sync::no, keep_on);
      if (!copied.ok() && copied.error().code == Code::gone) return copied.error();
      if (copied.ok()) {
        TRY(os::set_mode(to, 0600));
        if (TRY(digest_of(to, keep_on)) == digest) return {};
        TRY(os::remove_file(to));
      }
    }
    return with_patience([&] { return link_.fetch_object(digest, to, keep_on); }, keep_on_);
  }

  Result<Manifest> manifest(const std::string& digest) {
    const std::string path = layout_.temporary() + "/manifest";
    TRY(fetch(digest, path));
    const std::string text = TRY(os::read_file(path, kMostManifestBytes));
    TRY(os::remove_file(path));
    return from_json<Manifest>(text, Origin::server, kMostManifestBytes);
  }

  Result<void> code() {
    if (spec_.code_digest.empty()) return {};
    const std::string bundle = layout_.temporary() + "/code";
    if (auto done = fetch(spec_.code_digest, bundle); !done.ok())
      return std::move(done).error().with("fetching the code");
    if (auto done = os::extract_bundle(bundle, layout_.work()); !done.ok())
      return std::move(done).error().with("unpacking the code");
    return os::remove_file(bundle);
  }

  // Every file of a manifest below `root`.
  Result<void> materialise(const Manifest& all, const std::string& root, mode_t mode) {
    for (const ManifestFile& file : all.files) {
      const std::string to = TRY(os::safe_join(root, file.path));
      const size_t slash = file.path.rfind('/');
      if (slash != std::string::npos)
        TRY(os::make_directories_beneath(root, file.path.substr(0, slash)));
      TRY(fetch(file.digest, to));
      TRY(os::set_mode(to, file.executable ? mode | 0111 : mode));
    }
    return {};
  }

  Result<void> data(const TaskDataset& dataset) {
    std::string at = dataset.at;
    if (at.empty() && !dataset.path.empty()) at = os::name_of(dataset.path);
    if (at.empty()) at = dataset.variable;
    const std::string place = TRY(os::safe_join(layout_.work(), at));
    const size_t slash = at.rfind('/');
    if (slash != std::string::npos && slash > 0)
      TRY(os::make_directories_beneath(layout_.work(), at.substr(0, slash)));
    data_[dataset.variable] = place;
    if (!dataset.path.empty()) {
      const auto print = fingerprint(dataset.path);
      if (!print.ok())
        return Error::of(print.error().code,
                         format("the dataset's path {} cannot be read on this node: {}",
                                dataset.path, print.error().detail),
                         "give a directory that is there");
      prepared_.fingerprints.push_back(*print);
      return os::make_symlink(dataset.path, place);
    }
    const auto all = manifest(dataset.manifest_digest);
    if (!all.ok()) return Error(all.error()).with(format("fetching the dataset at {}", at));
    if (!dataset.in_place.empty()) {
      TRY(check_in_place(*all, dataset.in_place));
      return os::make_symlink(dataset.in_place, place);
    }
    TRY(os::make_directory(place, 0755));
    return materialise(*all, place, 0444);
  }

  static Result<void> check_in_place(const Manifest& all, const std::string& root) {
    for (const ManifestFile& file : all.files) {
      const auto status = os::status(TRY(os::safe_join(root, file.path)));
      const bool same = status.ok() && status->st_size == file.size_bytes &&
                        (file.modified_us == 0 || int64_t{status->st_mtim.tv_sec} * 1'000'000 +
                                                          status->st_mtim.tv_nsec / 1000 ==
                                                      file.modified_us);
      if (!same)
        return Error::conflict(
            format("{}/{} is not the file that the dataset's version describes", root, file.path),
            "add the changed directory as a new version: hearth dataset add --in-place");
    }
    return {};
  }

  Result<void> checkpoints() {
    const std::string path =
        spec_.outputs.checkpoints ? spec_.outputs.checkpoints->path : "checkpoints";
    prepared_.checkpoint_directory = TRY(os::safe_join(layout_.work(), path));
    // The code may bring a folder of that name, but no link out of the working directory.
    TRY(os::make_directories_beneath(layout_.work(), path));
    if (spec_.resume_manifest_digest.empty()) return {};
    const auto all = manifest(spec_.resume_manifest_digest);
    if (!all.ok()) return Error(all.error()).with("fetching the checkpoint");
    const std::string root = prepared_.checkpoint_directory;
    if (auto done = materialise(*all, root, 0644); !done.ok())
      return std::move(done).error().with("fetching the checkpoint");
    resume_from_ = root;
    const std::string first = all->files.empty() ? "" : all->files[0].path;
    const std::string folder = first.substr(0, first.find('/') + 1);
    if (!folder.empty() && std::all_of(all->files.begin(), all->files.end(),
                                       [&](const auto& f) { return f.path.starts_with(folder); }))
      resume_from_ = root + "/" + folder.substr(0, folder.size() - 1);
    return {};
  }

  Result<void> parameters() {
    std::string text;
    for (const auto& [name, param] : spec_.params) {
      if (!text.empty()) text += ',';
      text += json_quote(name) + ":" + param.value.text;
    }
    return os::write_file_atomic(layout_.params(), "{" + text + "}\n", 0644, os::Sync::no);
  }

  Result<void> command() {
    const ReadyCommand ready = TRY(make_command(spec_.command, spec_.params));
    prepared_.argv = is_mpi(spec_) && spec_.rank != 0 ? mpi_command() : ready.argv;
    if (is_mpi(spec_) && spec_.rank == 0) TRY(prepare_mpi(spec_, layout_));
    prepared_.environment = variables(
        spec_, layout_,
        {prepared_.checkpoint_directory, resume_from_, options_.sdk_directory, data_, ready.env});
    return {};
  }

  // Inside out, the top last: until then nobody but us can reach in.
  Result<void> hand_over() {
    const auto uid = static_cast<uid_t>(spec_.uid);
    const auto gid = static_cast<gid_t>(spec_.gid < 0 ? spec_.uid : spec_.gid);
    TRY(os::walk(layout_.work(), [&](const os::Found& found) -> Result<bool> {
      TRY(os::set_owner(layout_.work() + "/" + found.path, uid, gid));
      return true;
    }));
    TRY(os::set_owner(layout_.work(), uid, gid));
    return os::set_owner(layout_.temporary(), uid, gid);
  }

  void describe_machine() {
    auto& machine = prepared_.machine;
    machine["host"] = os::hostname();
    utsname name{};
    if (uname(&name) == 0) machine["kernel"] = name.release;
    machine["cpus"] = format("{}", os::online_cpus());
    machine["memory_bytes"] = format("{}", os::total_memory_bytes());
    const std::string folders = spec_.environment.prefix.empty()
                                    ? "/usr/local/bin:/usr/bin:/bin"
                                    : spec_.environment.prefix + "/bin";
    for (const std::string_view folder : split(folders, ':')) {
      char real[PATH_MAX];
      if (realpath(format("{}/python3", folder).c_str(), real) == nullptr) continue;
      machine["python"] = real;
      break;
    }
  }

  const TaskSpec& spec_;
  const Layout& layout_;
  const ShimOptions& options_;
  const std::function<bool(Duration)>& keep_on_;
  ServerLink link_;
  std::map<std::string, std::string> data_;
  std::string resume_from_;
  PreparedTask prepared_;
};

}  // namespace

Result<std::string> fingerprint(const std::string& path) {
  Sha256 hash;
  const auto add = [&](const std::string& name, const struct stat& status) {
    hash.update(format("{} {} {}.{:09}\n", name, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec));
  };
  const struct stat top = TRY(os::status(path));
  if (!S_ISDIR(top.st_mode)) {
    add(os::name_of(path), top);
    return hash.finish_text();
  }
  size_t seen = 0;
  const auto walked = os::walk(
      path,
      [&](const os::Found& found) -> Result<bool> {
        if (found.kind != os::EntryKind::directory)
          if (const auto status = os::link_status(path + "/" + found.path); status.ok())
            add(found.path, *status);
        return ++seen < kMostFingerprinted;
      },
      kMostFingerprinted);
  // More files than that: what was read is still good for telling a change.
  if (!walked.ok() && walked.error().code != Code::too_large) return walked.error();
  return hash.finish_text();
}

Result<PreparedTask> prepare(const TaskSpec& spec, const Layout& layout, const ShimOptions& options,
                             const std::function<bool(Duration)>& keep_on) {
  return Preparer(spec, layout, options, keep_on).run();
}

}  // namespace hearth::shim
