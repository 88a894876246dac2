#include "control/backup/backup.h"

#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "control/backup/index.h"
#include "control/backup/tar.h"
#include "db/tables.h"
#include "domain/codec.h"
#include "os/files.h"

namespace hearth::control {
namespace {

constexpr std::string_view kDigestMark = "sha256:";
// An object's digest is its name: its bytes are held against it on the way.
struct Part {
  BackupFile entry;
  std::string path;
};

Result<void> pour_file(const std::string& path, const Pour& pour) {
  os::File file = TRY(os::File::open_read(path));
  Bytes piece(kTarPiece);
  for (;;) {
    const size_t n = TRY(file.read(piece));
    if (n == 0) return {};
    TRY(pour(as_text(std::span(piece).first(n))));
  }
}

Result<Part> part_of(const std::string& path, std::string name) {
  Part part{{.name = std::move(name), .digest = {}, .size_bytes = 0}, path};
  Sha256 hash;
  TRY(pour_file(path, [&](std::string_view bytes) -> Result<void> {
    hash.update(bytes);
    part.entry.size_bytes += static_cast<int64_t>(bytes.size());
    return {};
  }));
  part.entry.digest = hash.finish_text();
  return part;
}

class Backup {
 public:
  Backup(const Context& context, const std::string& folder) : context_(context), folder_(folder) {}

  Result<void> collect(const std::string& log_directory);
  Result<void> write(const std::string& to, const Progress& progress);
  BackupReport report() const { return report_; }

 private:
  Result<void> collect_logs(const std::string& log_directory);
  Result<void> collect_database();
  Result<void> collect_objects();

  const Context& context_;
  const std::string folder_;  // for copies; goes away after
  BackupIndex index_;
  std::vector<Part> parts_;
  BackupReport report_;
};

Result<void> Backup::collect(const std::string& log_directory) {
  index_.created_at = context_.clock.now();
  // In this order: a segment that is sealed meanwhile is in the database's snapshot as well, and
  // what is twice is told by its seq; the other way round it would be in neither.
  TRY(collect_logs(log_directory));
  TRY(collect_database());
  return collect_objects();
}

Result<void> Backup::collect_logs(const std::string& log_directory) {
  if (!os::exists(log_directory)) return {};
  for (const os::Entry& entry : TRY(os::list_directory(log_directory))) {
    const std::string name = std::string(kLogFolder) + entry.name;
    if (entry.kind != os::EntryKind::file || name.size() > kMostTarName) continue;
    const std::string copy = format("{}/{}", folder_, entry.name);
    const auto copied =
        os::copy_file(format("{}/{}", log_directory, entry.name), copy, os::Sync::no);
    if (!copied.ok() && copied.error().code == Code::not_found) continue;  // sealed just now
    TRY(copied);
    parts_.push_back(TRY(part_of(copy, name)));
  }
  return {};
}

Result<void> Backup::collect_database() {
  const std::string copy = folder_ + "/snapshot.db";
  TRY(context_.database.snapshot(copy));
  index_.tables = context_.database.version();
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    index_.server_id = TRY(db::get_setting(session, "server_id")).value_or("");
    return {};
  }));
  parts_.push_back(TRY(part_of(copy, std::string(kDatabaseName))));
  return {};
}

Result<void> Backup::collect_objects() {
  std::vector<objects::Stored> all;
  TRY(context_.objects.list([&](const objects::Stored& stored) -> Result<void> {
    all.push_back(stored);
    return {};
  }));
  for (const objects::Stored& stored : all) {
    auto path = context_.objects.local_path(stored.digest);  // verified
    if (!path.ok()) {
      log_error("backup: {}", path.error().text());
      report_.damaged.push_back(stored.digest);
      continue;
    }
    const std::string hex = stored.digest.substr(kDigestMark.size());
    parts_.push_back(
        {{std::string(kObjectFolder) + hex, stored.digest, stored.size_bytes}, std::move(*path)});
    ++report_.objects;
  }
  index_.damaged = report_.damaged;
  return {};
}

Result<void> Backup::write(const std::string& to, const Progress& progress) {
  for (const Part& part : parts_) {
    index_.files.push_back(part.entry);
    report_.bytes += part.entry.size_bytes;
  }
  os::File file = TRY(os::File::create_new(to, 0600));
  TarWriter tar(file);
  const std::string index = to_json(index_);
  TRY(tar.add(std::string(kIndexName), static_cast<int64_t>(index.size()), index_.created_at,
              [&](const Pour& pour) { return pour(index); }));
  int64_t done = 0;
  for (const Part& part : parts_) {
    Sha256 hash;
    TRY(tar.add(part.entry.name, part.entry.size_bytes, index_.created_at, [&](const Pour& pour) {
      return pour_file(part.path, [&](std::string_view bytes) -> Result<void> {
        hash.update(bytes);
        done += static_cast<int64_t>(bytes.size());
        return pour(bytes);
      });
    }));
    if (hash.finish_text() != part.entry.digest)
      return Error::internal(part.path + " changed while it was copied", "try again");
    if (progress) progress(done, report_.bytes);
  }
  TRY(tar.finish());
  TRY(file.sync());
  return file.close();
}

}  // namespace

Result<BackupReport> backup(Context context, CollectionGate& gate, const std::string& log_directory,
                            const std::string& file, const Progress& progress) {
  if (os::exists(file)) return Error::of(Code::exists, file + " is there already");
  const CollectionGate::Hold hold(gate);
  const std::string folder = os::parent_of(file);
  const auto copies = TRY(os::TemporaryDirectory::make("hearth-backup", folder));
  Backup backup(context, copies.path());
  TRY(backup.collect(log_directory));
  const std::string partial = copies / "backup.tar";
  TRY(backup.write(partial, progress));
  TRY(os::rename_file(partial, file));
  TRY(os::fsync_directory(folder));
  return backup.report();
}

}  // namespace hearth::control
