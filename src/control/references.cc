#include "control/references.h"

#include <charconv>
#include <filesystem>

#include "base/format.h"
#include "db/tables.h"
#include "domain/pattern.h"

namespace hearth::control {

Reference parse_reference(const std::string& text) {
  Reference reference;
  const size_t at = text.find('@');
  reference.name = text.substr(0, at);
  if (at == std::string::npos) return reference;
  reference.word = text.substr(at + 1);
  std::string_view digits = reference.word;
  if (digits.starts_with('v')) digits.remove_prefix(1);
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure == std::errc() && end == digits.data() + digits.size() && number > 0)
    reference.number = number;
  return reference;
}

Result<void> check_version_word(const std::string& word, std::string_view what) {
  if (word.size() <= kLongestVersionWord && pattern_matches(kVersionWord, word)) return {};
  return Error::invalid(format("'{}' cannot be {}", word.substr(0, 80), what),
                        "begin with a letter, then letters, digits, '.', '_', '-'; not v1, v2...");
}

Result<DatasetVersion> find_dataset_version(db::Session& session, const std::string& project,
                                            const std::string& reference) {
  const Reference wanted = parse_reference(reference);
  const auto dataset = TRY(db::Table<Dataset>::find(
      session, "WHERE project = $1 AND (name = $2 OR id = $2)", {project, wanted.name}));
  if (!dataset)
    return Error::not_found(format("there is no dataset '{}' in project {}", wanted.name, project),
                            "`hearth dataset list` shows those there are");
  int64_t number = wanted.word.empty() ? dataset->versions : wanted.number;
  if (const auto tag = dataset->tags.find(wanted.word); tag != dataset->tags.end())
    number = parse_reference("@" + tag->second).number;
  auto version = TRY(db::Table<DatasetVersion>::find(
      session, "WHERE project = $1 AND dataset = $2 AND number = $3",
      {project, dataset->name, number}));
  if (!version)
    return Error::not_found(format("dataset {} has no version '{}'", dataset->name, wanted.word),
                            format("`hearth dataset show {}` lists its versions", dataset->name));
  return std::move(*version);
}

bool is_plain_path(std::string_view path) {
  if (path.find('\\') != std::string_view::npos || path.find('\0') != std::string_view::npos)
    return false;
  for (const std::string_view part : split(path, '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

bool lies_in(const std::string& path, const std::vector<std::string>& roots) {
  if (roots.empty()) return true;
  std::error_code failure;
  const auto real = std::filesystem::weakly_canonical(path, failure);
  for (const std::string& root : roots) {
    const auto base = std::filesystem::weakly_canonical(root, failure);
    const auto rest = real.lexically_relative(base);
    if (!failure && !rest.empty() && *rest.begin() != "..") return true;
  }
  return false;
}

}  // namespace hearth::control
