#include "base/metrics.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

struct CountingMetrics : Metrics {
  struct Sum : Counter, Gauge, Histogram {
    double value = 0;
    void add(double amount) override { value += amount; }
    void set(double v) override { value = v; }
    void observe(double v) override { value += v; }
  };
  std::map<std::string, Sum> sums;
  Counter& counter(const std::string& name, const std::string&, const Labels&) override {
    return sums[name];
  }
  Gauge& gauge(const std::string& name, const std::string&, const Labels&) override {
    return sums[name];
  }
  Histogram& histogram(const std::string& name, const std::string&, const std::vector<double>&,
                       const Labels&) override {
    return sums[name];
  }
};

TEST(Metrics, WithoutARegistryNothingIsCountedAndNothingBreaks) {
  metrics().counter("hearth_base_things_total", "things").add();
  metrics().gauge("hearth_base_queue_items", "items").set(4);
  metrics().histogram("hearth_base_wait_seconds", "wait", {0.1, 1}).observe(0.5);
}

TEST(Metrics, GoToTheRegistryThatWasSet) {
  auto owned = std::make_unique<CountingMetrics>();
  CountingMetrics& registry = *owned;
  set_metrics(std::move(owned));
  metrics().counter("a_total", "a").add(2);
  metrics().counter("a_total", "a").add();
  EXPECT_EQ(registry.sums["a_total"].value, 3);
}

}  // namespace
}  // namespace hearth
