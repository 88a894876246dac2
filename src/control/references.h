// How datasets and models are named in job files and calls, and where data of this disk may lie:
// what jobs and records read alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/table.h"
#include "domain/dataset.h"

namespace hearth::control {

// "NAME@3", "NAME@v3", "NAME@word", "NAME".
struct Reference {
  std::string name;
  std::string word;    // behind the @
  int64_t number = 0;  // when the word is one
};
Reference parse_reference(const std::string& text);

// An alias or a tag: a letter, then letters, digits, '.', '_', '-'; never `v` and digits, which
// stand for a number.
constexpr std::string_view kVersionWord =
    "[A-Za-uw-z][A-Za-z0-9._-]*|v|v[0-9]*[A-Za-z._-][A-Za-z0-9._-]*";
constexpr size_t kLongestVersionWord = 63;
Result<void> check_version_word(const std::string& word, std::string_view what);

// The version of a project's dataset that a reference means; NAME alone: the newest.
Result<DatasetVersion> find_dataset_version(db::Session& session, const std::string& project,
                                            const std::string& reference);

// Relative, without empty parts, `.`, `..`, NUL and backslash: no client that saves it is led
// astray.
bool is_plain_path(std::string_view path);

// Whether a path lies in one of these directories, or none are listed. Symbolic links are resolved:
// what counts is where the data really lies.
bool lies_in(const std::string& path, const std::vector<std::string>& roots);

}  // namespace hearth::control
