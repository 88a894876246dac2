#include <gtest/gtest.h>

#include "domain/job_spec.h"

namespace hearth {
namespace {

constexpr std::string_view kFile =
    "hearth: 1\nname: x\ncommand: run\nenvironment: system\ncode: .\n"
    "params: {lr: {value: 0.1, live: true, max: 1}, epochs: 3, layers: [1, 2]}\n"
    "datasets:\n  - {name: mnist, at: data}\n";

Result<JobSpec> with(const std::vector<std::string>& assignments) {
  Node root = TRY(parse_yaml(kFile));
  for (const std::string& assignment : assignments) TRY(apply_set(root, assignment));
  return parse_job_node(root);
}

JobSpec good(const std::vector<std::string>& assignments) {
  const auto spec = with(assignments);
  EXPECT_TRUE(spec.ok()) << assignments[0] << ": " << spec.error().text();
  return spec.ok() ? *spec : JobSpec{};
}

TEST(Set, ChangesWhatIsThere) {
  EXPECT_EQ(good({"params.epochs=5"}).params.at("epochs").value.text, "5");
  const Param lr = good({"params.lr=0.2"}).params.at("lr");
  EXPECT_EQ(lr.value.text, "0.2");
  EXPECT_TRUE(lr.live);
  EXPECT_EQ(good({"params.lr.max=2"}).params.at("lr").max, 2.0);
  EXPECT_EQ(good({"datasets[0].at=in"}).datasets[0].at, "in");
  EXPECT_EQ(good({"params.layers[1]=7"}).params.at("layers").value.text, "[1,7]");
  EXPECT_EQ(good({"params.layers=[4, 5]"}).params.at("layers").value.text, "[4,5]");
  EXPECT_EQ(good({"name=y", "priority=70"}).priority, 70);
}

TEST(Set, AddsWhatIsNot) {
  EXPECT_EQ(good({"params.seed=1"}).params.at("seed").value.text, "1");
  EXPECT_EQ(good({"params.epochs.live=true"}).params.at("epochs").value.text, "3");
  EXPECT_EQ(good({"resources.memory=8GiB"}).resources.memory.bytes, 8LL << 30);
  EXPECT_EQ(good({"labels.team=vision"}).labels.at("team"), "vision");
  EXPECT_EQ(good({"datasets[1]={path: /data, at: more}"}).datasets[1].path, "/data");
  EXPECT_EQ(good({"outputs.models[0].path=m", "outputs.models[0].name=n"}).outputs.models.size(),
            1U);
  EXPECT_EQ(good({"environment.prefix=/opt/x"}).environment.prefix, "/opt/x");
  EXPECT_EQ(good({"command[0]=prog", "command[1]=3"}).command.words,
            (std::vector<std::string>{"prog", "3"}));
}

TEST(Set, FollowsTheRulesOfScalars) {
  EXPECT_EQ(good({"params.a=true"}).params.at("a").value.text, "true");
  EXPECT_EQ(good({"params.a=no"}).params.at("a").value.text, "\"no\"");
  EXPECT_EQ(good({"params.a='3'"}).params.at("a").value.text, "\"3\"");
  EXPECT_EQ(good({"params.a="}).params.at("a").value.text, "\"\"");
  EXPECT_EQ(good({"params.a=b=c: d"}).params.at("a").value.text, "\"b=c: d\"");
  EXPECT_EQ(good({"env.A=1"}).env.at("A"), "1");
}

TEST(Set, SaysWhatIsWrong) {
  const auto mend = [](const std::string& assignment) {
    const auto spec = with({assignment});
    EXPECT_FALSE(spec.ok()) << assignment;
    return spec.ok() ? "" : spec.error().errors.at(0).mend;
  };
  EXPECT_EQ(mend("param.lr=1"), "did you mean 'params'?");
  EXPECT_EQ(mend("resources.cpu=1"), "did you mean 'cpus'?");
  EXPECT_EQ(mend("datasets[5].at=x"), "count from 0");
  EXPECT_EQ(mend("name.first=x"), "end the path before this part");
  EXPECT_EQ(mend("priority=1000"), "write, for example, 50");
  EXPECT_EQ(mend("params.lrr=1"), "did you mean 'params.lr'? If not, write it into the job file");
  EXPECT_EQ(mend("params.epoch.live=true"),
            "did you mean 'params.epochs'? If not, write it into the job file");
  for (const auto* assignment : {"", "=1", "params", "a..b=1", "[0]=1", "params.[x]=1", ".a=1",
                                 "datasets[0]at=x", "params.a=[1", "datasets[-1].at=x"})
    EXPECT_FALSE(with({assignment}).ok()) << assignment;
  EXPECT_FALSE(with({"params.lr=5"}).ok()) << "above its max";
}

}  // namespace
}  // namespace hearth
