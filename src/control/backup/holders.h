// Whose an object is, in words, for who reads that it is damaged.
#pragma once

#include <string>

#include "db/database.h"

namespace hearth::control {

// "model fashion-cnn 3; log of job fashion-cnn-7, lines 1 to 40000"; "" when nothing holds it. What
// cannot be read of a damaged database is left out.
std::string holders_of(db::Session& session, const std::string& digest);
std::string holders_of(db::Database& database, const std::string& digest);

}  // namespace hearth::control
