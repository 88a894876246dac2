// The page's files, carried inside the program; built from web/ by
// tools/build_page.sh and taken in by cmake/HearthEmbed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace hearth::api {

struct EmbeddedFile {
  std::string_view path, bytes;  // "assets/index-1a2b3c4d.js"
};
std::span<const EmbeddedFile> page_files();

}  // namespace hearth::api
