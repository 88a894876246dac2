#include "shim/packages.h"

#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "os/files.h"

namespace hearth::shim {
namespace {

// As a venv's: a link to the Python that it was made of.
TEST(Packages, ThePythonIsToldAsItWasCalled) {
  const os::TemporaryDirectory folder = std::move(os::TemporaryDirectory::make("packages").value());
  const std::string python = folder / "venv/bin/python3";
  std::filesystem::create_directories(folder / "venv/bin");
  std::filesystem::create_symlink("/usr/bin/python3", python);
  os::SpawnOptions options;
  options.working_directory = folder.path();
  for (const std::string& called : {python, std::string("venv/bin/python3")}) {
    options.argv = {called, "-c", "import time; time.sleep(600)"};
    auto process = os::spawn(options);
    ASSERT_TRUE(process.ok());
    std::string found;
    for (int i = 0; i < 6000 && found != python; ++i) {
      found = python_among({*os::process_info(process->pid())});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(found, python);
    EXPECT_TRUE(process->send_signal(SIGKILL).ok());
    EXPECT_TRUE(process->wait().ok());
    const auto facts = packages_of(found, {"PATH=/usr/bin:/bin"}, folder.path(), -1, -1);
    EXPECT_EQ(facts.at("python"), python);
    EXPECT_TRUE(facts.contains("python_version"));
  }
  EXPECT_EQ(python_among({}), "python3");
}

}  // namespace
}  // namespace hearth::shim
