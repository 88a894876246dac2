#include "base/metrics.h"

namespace hearth {
namespace {

struct Nothing : Counter, Gauge, Histogram {
  void add(double) override {}
  void set(double) override {}
  void observe(double) override {}
};
struct NoMetrics : Metrics {
  Nothing nothing;
  Counter& counter(const std::string&, const std::string&, const Labels&) override {
    return nothing;
  }
  Gauge& gauge(const std::string&, const std::string&, const Labels&) override { return nothing; }
  Histogram& histogram(const std::string&, const std::string&, const std::vector<double>&,
                       const Labels&) override {
    return nothing;
  }
};
std::unique_ptr<Metrics>& registry() {
  static std::unique_ptr<Metrics> the_registry = std::make_unique<NoMetrics>();
  return the_registry;
}

}  // namespace

Metrics& metrics() {
  return *registry();
}
void set_metrics(std::unique_ptr<Metrics> r) {
  registry() = std::move(r);
}

}  // namespace hearth
