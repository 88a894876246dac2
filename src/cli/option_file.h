// Options of a command from a file.
#pragma once

#include <string>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hearth::cli {

// Sets those options of `app` that its line does not, out of the file that the option `file` names,
// if the line has that. The file is a YAML mapping from their names,
// without dashes, to a text, to a list of texts where an option may be repeated, or to true or
// false where it is a flag. Paths are as on the line: from where the command is called. Errors:
// not_found, invalid with a FieldError for each mistake.
Result<void> read_option_file(CLI::App& app, const CLI::Option& file);

}  // namespace hearth::cli
