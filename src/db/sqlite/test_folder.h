// A folder of its own for a test, gone with it. It lies in memory where that can be: syncs then
// cost nothing, and no test here needs a real disk's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "base/result.h"

namespace hearth::db {

class TestFolder {
 public:
  TestFolder() {
    const std::filesystem::path memory = "/dev/shm";
    const bool fit = ::access(memory.c_str(), W_OK) == 0;
    std::string name =
        ((fit ? memory : std::filesystem::temp_directory_path()) / "hearth-db-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // The file and those whose names go on after it.
  void remove(const std::string& file) const {
    const std::string stem = std::filesystem::path(file).filename().string();
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (entry.path().filename().string().starts_with(stem)) std::filesystem::remove(entry);
  }

 private:
  std::string path_;
};

}  // namespace hearth::db
