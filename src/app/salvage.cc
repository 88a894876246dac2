// `hearth backup --salvage FILE --data DIR`: what is whole of a damaged data directory.
#include <cstdio>

#include "app/commands.h"
#include "app/paths.h"
#include "base/format.h"
#include "base/units.h"
#include "control/backup/backup.h"
#include "control/backup/last_backup.h"
#include "db/sqlite/sqlite.h"
#include "os/files.h"

namespace hearth::app {
namespace {

// Nothing while a server writes there; on a disk that turned read-only nobody can, and no lock
// either.
Result<std::optional<os::FileLock>> take_lock(const DataPaths& paths) {
  auto lock = os::FileLock::acquire(paths.lock());
  if (lock.ok()) return std::optional(std::move(*lock));
  if (lock.error().code == Code::conflict)
    return Error::conflict(format("a server runs on {}", paths.root),
                           format("`hearth down --data {}` first: its tasks go on, and report to "
                                  "the server that comes back",
                                  paths.root));
  return std::optional<os::FileLock>();
}

Result<control::BackupReport> run(const cli::BackupArgs& args) {
  const DataPaths paths = data_paths(args.data);
  if (!os::exists(paths.database()))
    return Error::not_found(format("there is no data of a server in {}", paths.root),
                            "give its data directory with --data DIR");
  const auto lock = TRY(take_lock(paths));
  control::SalvageSource source;
  source.log_directory = paths.logs();
  source.objects_directory = paths.objects();
  source.database = [from = paths.database()](const std::string& to) {
    return db::salvage_sqlite(from, to);
  };
  source.open_database = [](const std::string& path) { return db::open_sqlite({.path = path}); };
  Time shown = system_clock().steady();
  return control::salvage(source, system_clock(), args.file, [&](int64_t done, int64_t total) {
    const Time now = system_clock().steady();
    if ((now - shown).seconds() < 1) return;
    shown = now;
    std::fprintf(stderr, "saved %s of %s\n", format_size(done).c_str(), format_size(total).c_str());
  });
}

void print_lines(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::printf("%s\n", title);
  for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
}

}  // namespace

int salvage(const cli::BackupArgs& args) {
  const auto report = run(args);
  if (!report.ok()) {
    Error error = report.error();
    const auto note = data_paths(args.data).last_backup();
    if (error.code == Code::internal) error.mend = control::words_of(control::last_backup(note));
    return fail(error);
  }
  std::printf("saved %lld objects, %s into %s\n", static_cast<long long>(report->objects),
              format_size(report->bytes).c_str(), args.file.c_str());
  print_lines("put right:", report->mended);
  print_lines("left out, as it is damaged or gone:", report->left_out);
  std::printf(
      "`hearth restore %s --data DIR` puts it into an empty directory. The key of the "
      "secrets is not in it.\n",
      args.file.c_str());
  return 0;
}

}  // namespace hearth::app
