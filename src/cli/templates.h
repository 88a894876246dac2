// Job files to begin with: `hearth job new`.
#pragma once

#include <span>
#include <string_view>

namespace hearth::cli {

struct Template {
  std::string_view name, doc, text;
};
std::span<const Template> templates();

}  // namespace hearth::cli
