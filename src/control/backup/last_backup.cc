#include "control/backup/last_backup.h"

#include "base/format.h"
#include "domain/codec.h"
#include "os/files.h"

namespace hearth::control {
namespace {
constexpr int64_t kMostNoteBytes = 1 << 16;
}  // namespace

std::optional<KeptBackup> last_backup(const std::string& note) {
  const auto text = os::read_file(note, kMostNoteBytes);
  if (!text.ok()) return std::nullopt;
  auto backup = from_json<KeptBackup>(*text);
  return backup.ok() ? std::optional(std::move(*backup)) : std::nullopt;
}

Result<void> keep_last_backup(const std::string& note, const KeptBackup& backup) {
  return os::write_file_atomic(note, to_json(backup) + "\n", 0600);
}

std::string words_of(const std::optional<KeptBackup>& backup) {
  if (!backup) return "no backup of this server is known";
  return format("the last backup is {}:{} of {}", backup->host, backup->path,
                to_rfc3339(backup->created_at));
}

std::string advice_on_damage(const std::string& note, const std::string& data) {
  return format(
      "{}; `hearth down --data {}` and `hearth backup --salvage FILE --data {}` save what is whole "
      "now; `hearth restore` brings either back",
      words_of(last_backup(note)), data, data);
}

}  // namespace hearth::control
