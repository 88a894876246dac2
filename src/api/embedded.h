// The page's files, carried inside the program; made by cmake/HearthEmbed.cmake from page/.
#pragma once

#include <span>
#include <string_view>

namespace hearth::api {

struct EmbeddedFile {
  std::string_view path, bytes;  // "app.js"
};
std::span<const EmbeddedFile> page_files();

}  // namespace hearth::api
