#include "shim/saver.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/log.h"
#include "base/units.h"
#include "domain/codec.h"
#include "os/paths.h"

namespace hearth::shim {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr Duration kLook = Duration::millis(200);

Result<std::string> digest_of(os::File& file) {
  Sha256 hash;
  Bytes buffer(kBufferBytes);
  TRY(file.seek(0));
  for (;;) {
    const size_t got = TRY(file.read(buffer));
    if (got == 0) return hash.finish_text();
    hash.update(std::span<const std::byte>(buffer).first(got));
  }
}

// The job's name without its counter.
std::string base_name(const std::string& job_name) {
  const size_t dash = job_name.rfind('-');
  const bool counted = dash != std::string::npos && dash + 1 < job_name.size() &&
                       job_name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return counted ? job_name.substr(0, dash) : job_name;
}

bool is_sdk_checkpoint(std::string_view name) {
  return name.starts_with("step-") && name.size() >= 15;
}

}  // namespace

Saver::Saver(const TaskSpec& spec, Spool& spool, SaverPaths paths,
             std::function<void(std::string)> complain)
    : spec_(spec),
      spool_(spool),
      paths_(std::move(paths)),
      complain_(std::move(complain)),
      link_(spec) {}

Saver::~Saver() {
  give_up();
  finish([] { return true; });
}

void Saver::start() {
  thread_ = std::thread([this] { run(); });
}

void Saver::add(const std::string& line) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(line);
  changed_.notify_all();
}

Result<void> Saver::wish(const SaveWish& wish) {
  const std::string line = to_line(wish);
  TRY(spool_.add_save(line));
  add(line);
  return {};
}

Result<void> Saver::add_outputs(bool succeeded) {
  std::vector<std::string> known;
  for (const std::string& line : spool_.open_saves()) {
    const auto open = wish_of(line);
    if (open.ok() && open->kind == "artifact") known.push_back(open->path);
  }
  const auto found = os::glob_files(paths_.work, spec_.outputs.artifacts);
  if (!found.ok()) complain_(format("looking for artifacts: {}", found.error().text()));
  size_t count = 0;
  for (const std::string& path : found.ok() ? *found : std::vector<std::string>()) {
    if (std::find(known.begin(), known.end(), path) != known.end()) continue;
    if (++count > kMostArtifacts) {
      complain_(format("only the first {} artifacts were saved", kMostArtifacts));
      break;
    }
    TRY(wish({"artifact", path, "", "file", {}}));
  }
  for (const ModelOutput& model : spec_.outputs.models) {
    if (!succeeded) break;
    if (os::exists(paths_.work + "/" + model.path))
      TRY(wish({"model", model.path, model.name, "", {}}));
    else
      complain_(format("outputs.models: {} is not there, so no model was saved", model.path));
  }
  return {};
}

void Saver::finish(const std::function<bool()>& hurry) {
  Time end;
  {
    std::unique_lock lock(mutex_);
    finishing_ = true;
    changed_.notify_all();
    const auto done = [&] { return (queue_.empty() && !busy_) || given_up_.load(); };
    while (!changed_.wait_for(lock, kLook.chrono(), done)) {
      const Time now = system_clock().steady();
      if (end.micros == 0 && hurry()) end = now + kHurry;
      if (end.micros != 0 && now >= end) given_up_.store(true);
    }
    changed_.notify_all();
  }
  if (given_up_.load()) link_.cancel();
  if (thread_.joinable()) thread_.join();
}

void Saver::give_up() {
  given_up_.store(true);
  link_.cancel();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool Saver::keep_on(Duration pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause.chrono(), [&] { return given_up_.load(); });
  return !given_up_.load();
}

void Saver::run() {
  for (;;) {
    std::string line;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty() || finishing_ || given_up_.load(); });
      if (given_up_.load() || queue_.empty()) return;
      line = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
    }
    const auto done =
        with_patience([&] { return save(line); }, [&](Duration pause) { return keep_on(pause); });
    if (!done.ok() && !given_up_.load()) {
      complain_(format("not saved: {}", done.error().text()));
      ignore(spool_.finish_save(line));
    }
    const std::lock_guard lock(mutex_);
    busy_ = false;
    changed_.notify_all();
  }
}

Result<void> Saver::save(const std::string& line) {
  const auto wish = wish_of(line);
  if (!wish.ok()) return Error::invalid("a wish to save is not understood");
  if (wish->kind == "checkpoint") TRY(save_checkpoint(*wish));
  if (wish->kind == "artifact") TRY(save_artifact(*wish));
  if (wish->kind == "model") TRY(save_model(*wish));
  return spool_.finish_save(line);
}

Result<std::string> Saver::relative_to(const std::string& root, const std::string& path) const {
  if (path == root) return std::string(".");
  if (path.starts_with(root + "/")) return path.substr(root.size() + 1);
  if (!path.starts_with('/')) return path;
  return Error::invalid(format("{} does not lie in {}", path, root));
}

// Below the open folder, no link followed: its owner may be anybody.
Result<Saver::Sent> Saver::send_file(int folder, const std::string& relative, bool& executable) {
  for (int i = 0;; ++i) {
    os::Fd fd = TRY(os::open_beneath(folder, relative, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0,
                                     os::Links::refuse));
    os::File file = TRY(os::File::adopt(std::move(fd), relative));
    const struct stat status = TRY(file.status());
    if (!S_ISREG(status.st_mode)) return Error::invalid(format("{} is no file", relative));
    executable = (status.st_mode & 0100) != 0;
    const std::string digest = TRY(digest_of(file));
    const auto sent = link_.send_object(file, digest, status.st_size);
    if (sent.ok()) return Sent{digest, status.st_size};
    // Invalid: the digest did not fit, so it was written to meanwhile.
    if (sent.error().code != Code::invalid || i + 1 >= kMostChanges) return sent.error();
  }
}

Result<Saver::Sent> Saver::send_folder(int folder, const std::string& relative,
                                       const std::string& prefix, bool top_files_alone) {
  const os::Fd inside =
      TRY(os::open_beneath(folder, relative, O_RDONLY | O_DIRECTORY, 0, os::Links::refuse));
  std::vector<std::string> paths;
  TRY(os::walk(format("/proc/self/fd/{}", inside.get()),
               [&](const os::Found& found) -> Result<bool> {
                 const bool hidden = found.path.starts_with('.');
                 if (found.kind == os::EntryKind::file && !(top_files_alone && hidden))
                   paths.push_back(found.path);
                 return !top_files_alone;
               }));
  std::sort(paths.begin(), paths.end());
  Manifest manifest;
  int64_t bytes = 0;
  for (const std::string& path : paths) {
    bool executable = false;
    const Sent sent = TRY(send_file(inside.get(), path, executable));
    manifest.files.push_back({prefix + path, sent.digest, sent.size_bytes, 0, executable});
    bytes += sent.size_bytes;
  }
  if (manifest.files.empty()) return Error::invalid("there are no files in it");
  const std::string text = to_json(manifest);
  const std::string digest = sha256(text);
  TRY(link_.send_object(text, digest));
  return Sent{digest, bytes};
}

Result<void> Saver::save_checkpoint(const SaveWish& wish) {
  const std::string relative = TRY(relative_to(paths_.checkpoints, wish.path));
  const os::Fd root(
      ::open(paths_.checkpoints.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return Error::from_errno("opening the checkpoint directory", errno);
  const bool flat = relative == ".";
  const std::string prefix = flat ? "" : relative + "/";
  const auto sent = send_folder(root.get(), relative, prefix, flat);
  // Replaced by a newer one of the same step, or pruned: its own record comes or came.
  if (!sent.ok() && sent.error().code == Code::not_found) return {};
  if (!sent.ok()) return Error(sent.error()).with(format("checkpoint {}", relative));
  TRY(spool_.add_record({.kind = "checkpoint",
                         .step = wish.step.value_or(0),
                         .path = relative,
                         .digest = sent->digest,
                         .size_bytes = sent->size_bytes,
                         .directory = true}));
  prune_checkpoints();
  return {};
}

// The SDK leaves it to us to keep only the newest of its own folders on this disk.
void Saver::prune_checkpoints() {
  if (!spec_.outputs.checkpoints || spec_.outputs.checkpoints->keep <= 0) return;
  const auto entries = os::list_directory(paths_.checkpoints);
  if (!entries.ok()) return;
  std::vector<std::string> open;
  for (const std::string& line : spool_.open_saves())
    if (const auto wish = wish_of(line); wish.ok()) open.push_back(os::name_of(wish->path));
  std::vector<std::string> folders;  // sorted by step
  for (const os::Entry& entry : *entries)
    if (entry.kind == os::EntryKind::directory && is_sdk_checkpoint(entry.name))
      folders.push_back(entry.name);
  const auto keep = static_cast<size_t>(spec_.outputs.checkpoints->keep);
  for (size_t i = 0; i + keep < folders.size(); ++i)
    if (std::find(open.begin(), open.end(), folders[i]) == open.end())
      ignore(os::remove_tree(paths_.checkpoints + "/" + folders[i]));
}

Result<void> Saver::save_artifact(const SaveWish& wish) {
  const bool made = !paths_.made.empty() && wish.path.starts_with(paths_.made + "/");
  const std::string& folder = made ? paths_.made : paths_.work;
  const os::Fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return Error::from_errno(format("opening {}", folder), errno);
  bool executable = false;
  const std::string relative = TRY(relative_to(folder, wish.path));
  const auto sent = send_file(root.get(), relative, executable);
  if (!sent.ok()) return Error(sent.error()).with(format("artifact {}", relative));
  std::string& known = artifacts_[relative];
  if (known == sent->digest) return {};
  TRY(spool_.add_record(
      {.kind = "artifact",
       .step = wish.step,
       .name = wish.name,
       .path = relative,
       .digest = sent->digest,
       .kind_of_artifact = wish.kind_of_artifact.empty() ? "file" : wish.kind_of_artifact,
       .size_bytes = sent->size_bytes}));
  known = sent->digest;
  if (made) ignore(os::remove_file(wish.path));
  return {};
}

Result<void> Saver::save_model(const SaveWish& wish) {
  const os::Fd root(::open(paths_.work.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return Error::from_errno("opening the working directory", errno);
  const std::string relative = TRY(relative_to(paths_.work, wish.path));
  const auto status = os::link_status(paths_.work + "/" + relative);
  const bool directory = status.ok() && S_ISDIR(status->st_mode);
  bool executable = false;
  const auto sent = directory ? send_folder(root.get(), relative, "", false)
                              : send_file(root.get(), relative, executable);
  if (!sent.ok()) return Error(sent.error()).with(format("model {}", relative));
  return spool_.add_record({.kind = "model",
                            .name = wish.name.empty() ? base_name(spec_.job_name) : wish.name,
                            .path = relative,
                            .digest = sent->digest,
                            .size_bytes = sent->size_bytes,
                            .directory = directory});
}

}  // namespace hearth::shim
