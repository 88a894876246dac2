#include "control/backup/backup.h"

#include "base/format.h"
#include "base/log.h"
#include "control/backup/archive.h"
#include "db/tables.h"
#include "os/files.h"

namespace hearth::control {
namespace {

Result<void> add_database(const Context& context, const std::string& folder, Archive& archive) {
  const std::string copy = folder + "/snapshot.db";
  TRY(context.database.snapshot(copy));
  archive.index().tables = context.database.version();
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    archive.index().server_id = TRY(db::get_setting(session, "server_id")).value_or("");
    return {};
  }));
  return archive.add_file(copy, std::string(kDatabaseName));
}

Result<void> add_objects(const Context& context, Archive& archive) {
  std::vector<objects::Stored> all;
  TRY(context.objects.list([&](const objects::Stored& stored) -> Result<void> {
    all.push_back(stored);
    return {};
  }));
  for (const objects::Stored& stored : all) {
    auto path = context.objects.local_path(stored.digest);  // verified
    if (path.ok()) {
      archive.add_object(*path, stored.digest, stored.size_bytes);
      continue;
    }
    log_error("backup: {}", path.error().text());
    archive.report().damaged.push_back(stored.digest);
  }
  archive.index().damaged = archive.report().damaged;
  return {};
}

}  // namespace

Result<BackupReport> backup(Context context, CollectionGate& gate, const std::string& log_directory,
                            const std::string& file, const Progress& progress) {
  if (os::exists(file)) return Error::of(Code::exists, file + " is there already");
  const CollectionGate::Hold hold(gate);
  const std::string folder = os::parent_of(file);
  const auto copies = TRY(os::TemporaryDirectory::make("hearth-backup", folder));
  Archive archive;
  archive.index().created_at = context.clock.now();
  // In this order: a segment that is sealed meanwhile is in the database's snapshot as well, and
  // what is twice is told by its seq; the other way round it would be in neither.
  TRY(archive.add_logs(log_directory, copies.path()));
  TRY(add_database(context, copies.path(), archive));
  TRY(add_objects(context, archive));
  const std::string partial = copies / "backup.tar";
  TRY(archive.write(partial, progress));
  TRY(os::rename_file(partial, file));
  TRY(os::fsync_directory(folder));
  return archive.report();
}

}  // namespace hearth::control
