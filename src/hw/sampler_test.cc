#include "hw/sampler.h"

#include <chrono>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/process.h"

namespace hearth::hw {
namespace {

// A child that burns CPU and holds 64 MiB until it is ended.
class Burner {
 public:
  Burner() {
    os::SpawnOptions options;
    options.argv = {"python3", "-c",
                    "b = bytearray(64 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n"
                    "while True: pass"};
    options.environment = {"PATH=/usr/bin:/bin"};
    auto spawned = os::spawn(options);
    EXPECT_TRUE(spawned.ok()) << spawned.error().text();
    if (spawned) process_ = std::move(spawned).value();
  }
  ~Burner() {
    ignore(process_.send_signal(9));
    ignore(process_.wait(Duration::seconds(10)));
  }
  os::TreeQuery query() const {
    os::TreeQuery query;
    query.roots = {{process_.pid(), process_.start_time()}};
    return query;
  }

 private:
  os::Process process_;
};

TEST(Sampler, TreeOfProcesses) {
  Burner burner;
  Sampler sampler({.tree = burner.query()}, nullptr, system_clock());
  Sample sample;
  const Time until = system_clock().steady() + Duration::seconds(60);
  while (system_clock().steady() < until &&
         (sample.cpu_seconds < 0.1 || sample.memory < (int64_t{64} << 20))) {
    ::usleep(20'000);
    sample = sampler.sample();
  }
  EXPECT_EQ(sample.source, SampleSource::tree);
  EXPECT_GE(sample.cpu_seconds, 0.1);
  EXPECT_GE(sample.memory, int64_t{64} << 20);
  EXPECT_GE(sample.memory_peak, sample.memory);
  EXPECT_EQ(sample.processes, 1);
  EXPECT_GT(sample.at.micros, 0);
}

// A clock in which a walk of the tree takes 10 ms: the next is due only 500 ms later.
class SlowClock : public ManualClock {
 public:
  Time steady() override {
    advance(Duration::millis(10));
    return ManualClock::steady();
  }
};

TEST(Sampler, WalksAreBounded) {
  Burner burner;
  SlowClock clock;
  Sampler sampler({.tree = burner.query()}, nullptr, clock);
  const double first = sampler.sample().cpu_seconds;
  ::usleep(100'000);
  EXPECT_EQ(sampler.sample().cpu_seconds, first);
  double later = first;
  for (int i = 0; i < 3000 && later <= first; ++i) {
    clock.advance(Duration::millis(600));
    later = sampler.sample().cpu_seconds;
    ::usleep(20'000);
  }
  EXPECT_GT(later, first);
}

TEST(Sampler, NothingToRead) {
  Sampler sampler({}, nullptr, system_clock());
  const Sample sample = sampler.sample();
  EXPECT_EQ(sample.source, SampleSource::absent);
  EXPECT_TRUE(values(sample, {}).empty());
}

TEST(Sampler, GpusGranted) {
  ::setenv("HEARTH_FAKE_GPUS", "2:H100-80GB util=35 used=2GB power=100; 1:H100-80GB lost=1", 1);
  const auto gpus = Gpus::open(HEARTH_FAKE_NVML);
  ASSERT_TRUE(gpus) << gpus.why();
  const std::string prefix = "GPU-00000000-0000-4000-8000-00000000000";
  Sampler sampler({.gpus = {prefix + "2", prefix + "1"}}, gpus->get(), system_clock());
  const Sample sample = sampler.sample();
  ASSERT_EQ(sample.gpus.size(), 1U);
  EXPECT_EQ(sample.gpus[0].uuid, prefix + "1");
  const auto found = values(sample, sampler.gpus());
  EXPECT_EQ(found.at("gpu.1.utilization_percent"), 35);
  EXPECT_EQ(found.at("gpu.1.memory_bytes"), 2.0 * (1 << 30));
  EXPECT_EQ(found.at("gpu.1.power_watts"), 100);
  EXPECT_EQ(found.count("cpu_seconds"), 0U);
}

TEST(Sampler, Cgroup) {
  const auto support = os::detect_cgroups({.parent = "hearth-hw-test"});
  if (support.version == os::CgroupVersion::none || !support.memory) GTEST_SKIP() << support.why;
  const std::string name = "sampler-" + std::to_string(::getpid());
  const auto group = os::Cgroup::create(support, name, {.memory_bytes = int64_t{256} << 20});
  ASSERT_TRUE(group.ok()) << group.error().text();
  os::SpawnOptions options;
  options.argv = {"python3", "-c", "sum(range(5000000)); b = bytearray(32 << 20); input()"};
  options.environment = {"PATH=/usr/bin:/bin"};
  options.enter_groups = group->entry_files();
  auto pipe = os::make_pipe();
  ASSERT_TRUE(pipe.ok());
  options.standard_in = os::Stdio::from(pipe->read.get());
  auto child = os::spawn(options);
  ASSERT_TRUE(child.ok()) << child.error().text();
  {
    Sampler sampler({.cgroup = *group}, nullptr, system_clock());
    Sample sample;
    const Time until = system_clock().steady() + Duration::seconds(60);
    while (system_clock().steady() < until && sample.memory < (int64_t{32} << 20)) {
      ::usleep(20'000);
      sample = sampler.sample();
    }
    EXPECT_EQ(sample.source, SampleSource::cgroup);
    EXPECT_GE(sample.memory, int64_t{32} << 20);
    EXPECT_GE(sample.memory_peak, sample.memory);
    EXPECT_GT(sample.cpu_seconds, 0);
    EXPECT_EQ(sample.oom_kills, 0);
    EXPECT_TRUE(sample.cache.has_value());
  }
  EXPECT_TRUE(group->kill_all(Duration::seconds(10)).ok());
  ignore(child->wait(Duration::seconds(10)));
  EXPECT_TRUE(group->remove().ok());
  os::remove_parents(support);
}

}  // namespace
}  // namespace hearth::hw
