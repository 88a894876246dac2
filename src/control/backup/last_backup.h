// Where the last backup was put. It stands in a file of its own, as it is wanted when the database
// cannot be read.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "domain/wire/api.h"

namespace hearth::control {

// Nothing when there is none, or its note cannot be read.
std::optional<KeptBackup> last_backup(const std::string& note);
Result<void> keep_last_backup(const std::string& note, const KeptBackup& backup);

// "the last backup is box:/b.tar of 2026-11-20T10:00:00Z", or that there is none.
std::string words_of(const std::optional<KeptBackup>& backup);
// What to do about damage in the data directory `data`.
std::string advice_on_damage(const std::string& note, const std::string& data);

}  // namespace hearth::control
