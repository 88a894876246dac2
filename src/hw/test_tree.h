// A tree of files in a temporary directory, removed with the object: a Root for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

#include "hw/root.h"

namespace hearth::hw {

class TestTree {
 public:
  TestTree() {
    std::string name = (std::filesystem::temp_directory_path() / "hearth-hw-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~TestTree() {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  TestTree(const TestTree&) = delete;
  // `path` is absolute, as on a machine; its folders are made.
  TestTree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(directory_ + path).parent_path());
    std::ofstream(directory_ + path, std::ios::binary) << text;
    return *this;
  }
  TestTree& program(const std::string& path, const std::string& text) {
    file(path, text);
    std::filesystem::permissions(directory_ + path, std::filesystem::perms::owner_all);
    return *this;
  }
  Root root() const { return Root(directory_); }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace hearth::hw
