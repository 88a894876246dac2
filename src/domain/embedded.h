// The job templates' files, carried inside the program; made by cmake/HearthEmbed.cmake from
// templates/.
#pragma once

#include <span>
#include <string_view>

namespace hearth::domain {

struct EmbeddedFile {
  std::string_view path, bytes;  // "tabular/train.py"
};
std::span<const EmbeddedFile> template_files();

}  // namespace hearth::domain
