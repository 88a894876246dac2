// `hearth restore FILE`: a backup into an empty data directory.
#include <cstdio>

#include "app/commands.h"
#include "app/paths.h"
#include "base/format.h"
#include "base/units.h"
#include "control/backup/backup.h"
#include "db/sqlite/sqlite.h"
#include "objects/directory/directory.h"
#include "os/files.h"

namespace hearth::app {
namespace {

Result<control::BackupReport> run(const cli::RestoreArgs& args) {
  const DataPaths paths = data_paths(args.data);
  Bytes key;  // empty: no secret is opened
  if (!args.key_file.empty()) {
    const std::string text = TRY(load_or_make_key(args.key_file));
    const auto bytes = as_bytes(text);
    key.assign(bytes.begin(), bytes.end());
  }
  Time shown{0};
  const auto show = [&](int64_t done, int64_t total) {
    const Time now = system_clock().steady();
    if ((now - shown).seconds() < 1) return;
    shown = now;
    std::fprintf(stderr, "restored %s of %s\n", format_size(done).c_str(),
                 format_size(total).c_str());
  };
  const auto open_target = [&]() -> Result<control::RestoreTarget> {
    TRY(make_data_directories(paths));
    // The key is not in the backup: the one that was given becomes the new directory's.
    if (!key.empty()) TRY(os::write_file_atomic(paths.key(), as_text(key), 0600));
    control::RestoreTarget target;
    target.database_file = paths.database();
    target.log_directory = paths.logs();
    target.objects = TRY(objects::DirectoryObjects::open(paths.objects()));
    target.open_database = [path = paths.database()] { return db::open_sqlite({.path = path}); };
    return target;
  };
  return control::restore(args.file, paths.root, key, open_target, show);
}

}  // namespace

int restore(const cli::RestoreArgs& args) {
  const auto report = run(args);
  if (!report.ok()) return fail(report.error());
  std::printf("restored %lld objects, %s; %s\n", static_cast<long long>(report->objects),
              format_size(report->bytes).c_str(),
              report->damaged.empty() ? "every digest is right" : "all but these are whole:");
  for (const std::string& digest : report->damaged) std::printf("  %s\n", digest.c_str());
  if (!report->left_out.empty()) std::printf("the backup itself lacks what was damaged before:\n");
  for (const std::string& words : report->left_out) std::printf("  %s\n", words.c_str());
  if (!report->closed_secrets.empty()) {
    std::printf("these secrets are not opened by %s; set them anew:\n",
                args.key_file.empty() ? "a new key (give the old one with --key-file)"
                                      : args.key_file.c_str());
    for (const std::string& name : report->closed_secrets) std::printf("  %s\n", name.c_str());
  }
  return report->damaged.empty() ? 0 : info(Code::internal).exit_code;
}

}  // namespace hearth::app
