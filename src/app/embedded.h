// Files carried inside the program; made by cmake/HearthEmbed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace hearth::app {

struct EmbeddedFile {
  std::string_view path, bytes;
};
std::span<const EmbeddedFile> python_sdk();  // python/hearth/...

}  // namespace hearth::app
