#include "domain/job_spec.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace hearth {
namespace {

std::string testdata(const std::string& name) {
  std::ifstream in(HEARTH_TESTDATA "/" + name);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

JobSpec good(const std::string& yaml) {
  const auto spec = parse_job_yaml(yaml);
  EXPECT_TRUE(spec.ok()) << spec.error().text();
  return spec.ok() ? *spec : JobSpec{};
}

TEST(JobSpec, TheFileOfTheFace) {
  const JobSpec spec = good(testdata("jobs/face.yaml"));
  EXPECT_EQ(spec.name, "fashion-cnn");
  EXPECT_EQ(spec.environment.name, "system");
  EXPECT_EQ(spec.code.directory, ".");
  EXPECT_EQ(spec.env.at("TOKENIZERS_PARALLELISM"), "false");
  EXPECT_EQ(spec.params.at("epochs").value.text, "3");
  EXPECT_EQ(spec.params.at("lr").value.text, "0.01");
  EXPECT_TRUE(spec.params.at("lr").live);
  EXPECT_EQ(spec.resources.memory.bytes, 4LL << 30);
  EXPECT_EQ(spec.retries.on.size(), 4U);
  EXPECT_EQ(spec.time_limit->duration, Duration::seconds(3600));
  EXPECT_TRUE(check_runnable(spec).ok());
  EXPECT_EQ(roles_of(spec).at("worker").command, spec.command);
}

TEST(JobSpec, EveryGoodFileSurvivesJson) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEARTH_TESTDATA "/jobs")) {
    const JobSpec spec = good(testdata("jobs/" + entry.path().filename().string()));
    const auto back = from_json<JobSpec>(to_json(spec), Origin::client);
    ASSERT_TRUE(back.ok()) << entry.path() << back.error().text() << to_json(spec);
    EXPECT_EQ(*back, spec) << entry.path() << to_json(spec);
    ++files;
  }
  EXPECT_GE(files, 4);
}

TEST(JobSpec, WhatIsAcceptedCanBeReadInsideOfARow) {
  const auto file = [](int depth) {
    return "hearth: 1\nname: x\ncommand: run\nparams:\n  p: " +
           std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']') + "\n";
  };
  const JobSpec spec = good(file(kMostDepthOfAny));
  EXPECT_TRUE(parse_json("[[[[[[" + to_json(spec) + "]]]]]]").ok());
  const auto deeper = parse_job_yaml(file(kMostDepthOfAny + 1));
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.error().errors.at(0).path, "params.p");
}

TEST(JobSpec, OtherForms) {
  const JobSpec spec = good(testdata("jobs/other_forms.yaml"));
  EXPECT_EQ(spec.environment.prefix, "/opt/conda/envs/torch");
  EXPECT_EQ(spec.params.at("layers").value.text, "[64,128]");
  EXPECT_EQ(spec.resources.cpus, 0.05);
  EXPECT_TRUE(spec.retries.on.empty());
  EXPECT_EQ(place_of(spec.datasets[0]), "imagenet");
  EXPECT_EQ(place_of(spec.datasets[1]), "more");
  const auto runnable = check_runnable(spec);
  ASSERT_FALSE(runnable.ok());
  EXPECT_EQ(runnable.error().code, Code::invalid);
  ASSERT_EQ(runnable.error().errors.size(), 1U);
  EXPECT_EQ(runnable.error().errors[0].path, "code.git");
}

std::vector<std::string> places(const Result<void>& checked) {
  std::vector<std::string> all;
  if (!checked.ok())
    for (const FieldError& error : checked.error().errors) all.push_back(error.path);
  return all;
}

TEST(JobSpec, GangsRunUnderThreeContracts) {
  const auto file = [](const std::string& rest) {
    return "hearth: 1\nname: a\n" + rest + "roles: {worker: {replicas: 2, command: w}" +
           (rest.find("tf") == std::string::npos ? "}\n" : ", ps: {command: p}}\n");
  };
  for (const char* const launch : {"plain", "torchrun", "mpi"}) {
    const JobSpec spec = good(file(std::string("launch: ") + launch + "\n"));
    EXPECT_EQ(places(check_runnable(spec)), std::vector<std::string>{}) << launch;
    EXPECT_EQ(tasks_of(spec), 2);
  }
  for (const char* const launch : {"tf", "dmlc", "jax", "paddle"})
    EXPECT_EQ(places(check_runnable(good(file(std::string("launch: ") + launch + "\n")))),
              std::vector<std::string>{"launch"});
  const auto wrong = [](const std::string& text) {
    const auto spec = parse_job_yaml(text);
    EXPECT_FALSE(spec.ok());
    return spec.ok() ? "" : spec.error().errors.at(0).path;
  };
  EXPECT_EQ(wrong("hearth: 1\nname: a\nlaunch: torchrun\nroles: {a: {command: x}, b: {command: "
                  "y}}\n"),
            "roles");
  EXPECT_EQ(wrong("hearth: 1\nname: a\nroles: {a: {replicas: 4096, command: x}, b: {command: "
                  "y}}\n"),
            "roles");
  EXPECT_EQ(wrong("hearth: 1\nname: a\nlaunch: torchrun\nenv: {RANK: \"0\"}\nroles: {a: "
                  "{command: x}}\n"),
            "env.RANK");
  // Under `plain` it is a name like any other.
  EXPECT_TRUE(parse_job_yaml("hearth: 1\nname: a\nenv: {RANK: \"0\"}\ncommand: x\n").ok());
}

}  // namespace
}  // namespace hearth
