// Amounts of quotas as people write and read them, and bodies of requests.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/capacity.h"
#include "domain/codec.h"

namespace hearth::cli {

std::string joined(const std::vector<std::string>& parts, std::string_view between);
// A number from 0 on; `what` is named in the error.
Result<double> number_of(const std::string& text, std::string_view what);
// "gpus=8,memory=256GiB,H100=4" into `amounts`; "gpus=none" takes one out.
Result<void> take_amounts(Amounts& amounts, const std::string& text);
// "8 GPUs, 4 H100, 256 GiB".
std::string words_of(const Amounts& amounts);

// As a request: what the server alone says is left out.
template <typename T>
std::string request_json(const T& value) {
  auto node = parse_json(to_json(value));
  CHECK(node.ok());
  std::erase_if(node->members, [](const auto& member) {
    const auto& fields = type_of<T>().fields;
    return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
      return field.is_output_only && field.name == member.key;
    });
  });
  return to_json(*node);
}

}  // namespace hearth::cli
