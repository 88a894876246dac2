#include "cli/amounts.h"

#include <set>

#include "base/format.h"
#include "base/units.h"
#include "cli/output.h"
#include "domain/scalar.h"

namespace hearth::cli {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return format("{}", join(parts, between));
}

Result<double> number_of(const std::string& text, std::string_view what) {
  const auto value = real_of(text);
  if (value && *value >= 0) return *value;
  return Error::invalid(format("{}: '{}' is no number", what, text), "write a number from 0 on");
}

namespace {

Result<double> amount_of(const std::string& text, const std::string& what) {
  auto amount = number_of(text, what);
  if (amount.ok()) return amount;
  return Error::invalid(format("{}={} is no amount", what, text),
                        format("write a number from 0 on, or {}=none", what));
}

}  // namespace

Result<void> take_amounts(Amounts& amounts, const std::string& text) {
  std::set<std::string, std::less<>> named;
  for (const auto part : split(text, ',')) {
    const size_t equal = part.find('=');
    if (equal == std::string_view::npos || equal == 0)
      return Error::invalid(format("'{}' is no amount", part),
                            "write what=amount: gpus=8,cpus=64,memory=256GiB,H100=4");
    const std::string what(part.substr(0, equal)), value(part.substr(equal + 1));
    const bool none = value == "none";
    if (!named.insert(what).second)
      return Error::invalid(format("{} is named twice in '{}'", what, text), "name it once");
    if (what == "memory") {
      amounts.memory_bytes.reset();
      if (!none) amounts.memory_bytes = TRY(parse_size(value));
    } else if (what == "cpus" || what == "gpus") {
      auto& amount = what == "cpus" ? amounts.cpus : amounts.gpus;
      amount.reset();
      if (!none) amount = TRY(amount_of(value, what));
    } else {
      // A GPU's model is any name, but not a slip of these.
      std::string low = what;
      for (char& c : low)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (const std::string near = nearest(low, {"gpus", "cpus", "memory"}); !near.empty())
        return Error::invalid(format("'{}' is neither gpus, cpus, memory nor a GPU's model", what),
                              format("did you mean {}?", near));
      amounts.gpu_models.erase(what);
      if (!none) amounts.gpu_models[what] = TRY(amount_of(value, what));
    }
  }
  return {};
}

std::string words_of(const Amounts& amounts) {
  std::vector<std::string> parts;
  if (amounts.gpus) parts.push_back(plural(*amounts.gpus, "GPU"));
  for (const auto& [model, gpus] : amounts.gpu_models)
    parts.push_back(format("{} {}", number_text(gpus), printable(model)));
  if (amounts.cpus) parts.push_back(plural(*amounts.cpus, "CPU"));
  if (amounts.memory_bytes) parts.push_back(format_size(*amounts.memory_bytes));
  return joined(parts, ", ");
}

}  // namespace hearth::cli
