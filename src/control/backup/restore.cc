#include <map>
#include <set>

#include "base/format.h"
#include "control/backup/backup.h"
#include "control/backup/index.h"
#include "control/backup/tar.h"
#include "db/tables.h"
#include "domain/codec.h"
#include "os/files.h"

namespace hearth::control {
namespace {

constexpr int64_t kMostIndexText = int64_t{1} << 31;

class Restore {
 public:
  Restore(TarReader& tar, const std::string& file) : tar_(tar), file_(file) {}

  Result<void> read_index();
  Result<void> open(const std::function<Result<RestoreTarget>()>& open_target) {
    target_ = TRY(open_target());
    return {};
  }
  Result<void> read_files(const std::string& temporary, const Progress& progress);
  Result<void> look_at_secrets(const Bytes& key);
  BackupReport report() const { return report_; }

 private:
  Error damaged(std::string_view name) const {
    return Error::internal(format("{} is damaged: {}", file_, name),
                           "copy it again, or take another backup");
  }
  Result<void> read_file(const BackupFile& entry, const std::string& temporary);
  Result<std::string> place_of(const BackupFile& entry, const std::string& temporary) const;
  Result<void> accept_object(const BackupFile& entry, const std::string& path, bool whole);

  TarReader& tar_;
  const std::string file_;
  RestoreTarget target_;
  BackupIndex index_;
  BackupReport report_;
  int64_t done_ = 0, total_ = 0;
  Progress progress_;
};

Result<void> Restore::read_index() {
  const auto first = TRY(tar_.next());
  if (!first || first->name != kIndexName || first->size > kMostIndexText)
    return Error::invalid(file_ + " is no backup of Hearth",
                          "give a file that `hearth backup` made");
  std::string text;
  TRY(tar_.read([&](std::string_view bytes) -> Result<void> {
    text += bytes;
    return {};
  }));
  auto index = from_json<BackupIndex>(text, Origin::server, kMostIndexText);
  if (!index.ok()) return damaged(kIndexName);
  index_ = std::move(*index);
  if (index_.format != kBackupFormat)
    return Error::conflict(
        format("{} has form {}; this program reads form {}", file_, index_.format, kBackupFormat),
        "take the version of Hearth that made it, or a newer one");
  for (const BackupFile& entry : index_.files) total_ += entry.size_bytes;
  report_.damaged = index_.damaged;
  report_.left_out = index_.left_out;
  return {};
}

Result<void> Restore::read_files(const std::string& temporary, const Progress& progress) {
  progress_ = progress;
  for (const BackupFile& entry : index_.files) {
    const auto found = TRY(tar_.next());
    if (!found) return Error::invalid(file_ + " is cut off before " + entry.name);
    if (found->name != entry.name || found->size != entry.size_bytes) return damaged(entry.name);
    TRY(read_file(entry, temporary));
  }
  if (TRY(tar_.next())) return Error::invalid(file_ + " goes on after what its index names");
  TRY(os::fsync_directory(os::parent_of(target_.database_file)));
  if (os::exists(target_.log_directory)) TRY(os::fsync_directory(target_.log_directory));
  return {};
}

// Names come from the archive: only those that a backup makes are taken.
Result<std::string> Restore::place_of(const BackupFile& entry, const std::string& temporary) const {
  const std::string_view name = entry.name;
  if (name == kDatabaseName) return target_.database_file;
  if (name.starts_with(kObjectFolder)) return temporary + "/object";
  const bool log = name.starts_with(kLogFolder);
  const std::string_view leaf = name.substr(log ? kLogFolder.size() : 0);
  if (!log || leaf.empty() || leaf.find('/') != std::string_view::npos || leaf.starts_with('.'))
    return Error::invalid(format("{} holds a file of a strange name: {}", file_, name));
  return format("{}/{}", target_.log_directory, leaf);
}

Result<void> Restore::read_file(const BackupFile& entry, const std::string& temporary) {
  const std::string place = TRY(place_of(entry, temporary));
  TRY(os::make_directories(os::parent_of(place), 0700, os::Sync::yes));
  os::File file = TRY(os::File::create_new(place, 0600));
  Sha256 hash;
  TRY(tar_.read([&](std::string_view bytes) -> Result<void> {
    hash.update(bytes);
    done_ += static_cast<int64_t>(bytes.size());
    TRY(file.write(bytes));
    if (progress_) progress_(done_, total_);
    return {};
  }));
  TRY(file.sync());
  TRY(file.close());
  report_.bytes += entry.size_bytes;
  const bool whole = hash.finish_text() == entry.digest;
  if (entry.name.starts_with(kObjectFolder)) return accept_object(entry, place, whole);
  if (!whole) return damaged(entry.name);
  return {};
}

Result<void> Restore::accept_object(const BackupFile& entry, const std::string& path, bool whole) {
  if (whole) {
    TRY(target_.objects->put_file(path, entry.digest, true));
    ++report_.objects;
  } else {
    report_.damaged.push_back(entry.digest);
  }
  if (os::exists(path)) TRY(os::remove_file(path));  // it was there already, or is damaged
  return {};
}

Result<void> Restore::look_at_secrets(const Bytes& key) {
  const auto database = TRY(target_.open_database());
  TRY(database->check());
  return database->read([&](db::Session& session) -> Result<void> {
    report_.closed_secrets.clear();
    for (const Secret& secret :
         TRY(db::Table<Secret>::select(session, "ORDER BY project, name", {}))) {
      const std::string name = secret.project + "/" + secret.name;
      const auto sealed = from_base64(secret.sealed);
      if (!sealed.ok() || key.empty() || !unseal(key, *sealed, name).ok())
        report_.closed_secrets.push_back(name);
    }
    return {};
  });
}

Result<void> check_empty(const std::string& directory) {
  if (!os::exists(directory)) return os::make_directories(directory, 0700, os::Sync::yes);
  TRY(check_restored(directory));
  if (!TRY(os::list_directory(directory)).empty())
    return Error::conflict(directory + " is not empty", "give a directory that is new or empty");
  return {};
}

std::string mark_of(const std::string& directory) {
  return format("{}/{}", directory, kRestoreMark);
}

Result<void> set_mark(const std::string& directory) {
  // Of two restores that begin at once, one.
  os::File mark = TRY(os::File::create_new(mark_of(directory), 0600));
  TRY(mark.sync());
  return os::fsync_directory(directory);
}

// The mark goes last, so that whatever ends this leaves no part without it.
Result<void> empty_again(const std::string& directory) {
  for (const os::Entry& entry : TRY(os::list_directory(directory)))
    if (entry.name != kRestoreMark) TRY(os::remove_tree(directory + "/" + entry.name));
  return os::remove_file(mark_of(directory));
}

Result<void> end_mark(const std::string& directory) {
  TRY(os::fsync_directory(directory));
  TRY(os::remove_file(mark_of(directory)));
  return os::fsync_directory(directory);
}

}  // namespace

Result<void> check_restored(const std::string& directory) {
  if (!os::exists(mark_of(directory))) return {};
  return Error::conflict(
      directory + " holds a part of a backup: a restore into it has not come to its end",
      format("remove it (rm -r {}) and restore again; or wait, if the restore still runs",
             directory));
}

Result<BackupReport> restore(const std::string& file, const std::string& directory,
                             const Bytes& key,
                             const std::function<Result<RestoreTarget>()>& open_target,
                             const Progress& progress) {
  os::File archive = TRY(os::File::open_read(file));
  TRY(check_empty(directory));
  TarReader tar(archive);
  Restore restore(tar, file);
  TRY(restore.read_index());
  TRY(set_mark(directory));
  auto restored = [&]() -> Result<void> {
    TRY(restore.open(open_target));
    {
      const auto temporary = TRY(os::TemporaryDirectory::make("restore", directory));
      TRY(restore.read_files(temporary.path(), progress));
    }
    TRY(restore.look_at_secrets(key));
    return end_mark(directory);
  }();
  if (!restored.ok()) {
    Error error = std::move(restored).error();
    if (!empty_again(directory).ok())
      error.mend += format("{}{} holds a part now: remove it before the next try",
                           error.mend.empty() ? "" : "; ", directory);
    return error;
  }
  return restore.report();
}

}  // namespace hearth::control
