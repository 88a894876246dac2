// For tests of this folder: a directory of its own, files written into it.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "app/mlflow/store.h"
#include "os/files.h"

namespace hearth::app::mlflow {

template <typename T>
T need(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
  return result.ok() ? std::move(*result) : T{};
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : folder_(need_folder()) {}
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(os::make_directories(os::parent_of(path(name))).ok());
    ASSERT_TRUE(os::write_file_atomic(path(name), bytes, 0644, os::Sync::no).ok());
  }
  // Of the only run of the experiment.
  static StoreRun only_run(Store& store, const ImportedExperiment& experiment) {
    std::vector<StoreRun> runs;
    EXPECT_TRUE(store
                    .each_run(experiment,
                              [&](StoreRun&& run) -> Result<void> {
                                runs.push_back(std::move(run));
                                return {};
                              })
                    .ok());
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? StoreRun{} : runs.front();
  }
  static std::string first_problem(const Store& store) {
    return store.problems().empty() ? "" : store.problems().front().detail;
  }

 private:
  static os::TemporaryDirectory need_folder() {
    auto made = os::TemporaryDirectory::make("hearth-store-test");
    CHECK(made.ok());
    return std::move(*made);
  }
  os::TemporaryDirectory folder_;
};

}  // namespace hearth::app::mlflow
