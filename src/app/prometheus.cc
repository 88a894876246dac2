#include "app/prometheus.h"

#include <map>
#include <mutex>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace hearth::app {
namespace {

struct PrometheusCounter : Counter {
  explicit PrometheusCounter(prometheus::Counter& c) : counter(c) {}
  void add(double amount) override { counter.Increment(amount); }
  prometheus::Counter& counter;
};
struct PrometheusGauge : Gauge {
  explicit PrometheusGauge(prometheus::Gauge& g) : gauge(g) {}
  void set(double value) override { gauge.Set(value); }
  void add(double amount) override { gauge.Increment(amount); }
  prometheus::Gauge& gauge;
};
struct PrometheusHistogram : Histogram {
  explicit PrometheusHistogram(prometheus::Histogram& h) : histogram(h) {}
  void observe(double value) override { histogram.Observe(value); }
  prometheus::Histogram& histogram;
};

std::shared_ptr<prometheus::Registry> registry() {
  static const auto the_registry = std::make_shared<prometheus::Registry>();
  return the_registry;
}

class PrometheusMetrics : public Metrics {
 public:
  hearth::Counter& counter(const std::string& name, const std::string& help,
                           const Labels& labels) override {
    return kept(counters_, name, labels, [&] {
      return std::make_unique<PrometheusCounter>(
          prometheus::BuildCounter().Name(name).Help(help).Register(*registry()).Add(labels));
    });
  }
  hearth::Gauge& gauge(const std::string& name, const std::string& help,
                       const Labels& labels) override {
    return kept(gauges_, name, labels, [&] {
      return std::make_unique<PrometheusGauge>(
          prometheus::BuildGauge().Name(name).Help(help).Register(*registry()).Add(labels));
    });
  }
  hearth::Histogram& histogram(const std::string& name, const std::string& help,
                               const std::vector<double>& buckets, const Labels& labels) override {
    return kept(histograms_, name, labels, [&] {
      return std::make_unique<PrometheusHistogram>(prometheus::BuildHistogram()
                                                       .Name(name)
                                                       .Help(help)
                                                       .Register(*registry())
                                                       .Add(labels, buckets));
    });
  }

 private:
  using Key = std::pair<std::string, Labels>;
  template <typename T, typename Make>
  T& kept(std::map<Key, std::unique_ptr<T>>& all, const std::string& name, const Labels& labels,
          const Make& make) {
    const std::lock_guard lock(mutex_);
    auto& slot = all[Key(name, labels)];
    if (!slot) slot = make();
    return *slot;
  }
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Counter>> counters_;
  std::map<Key, std::unique_ptr<Gauge>> gauges_;
  std::map<Key, std::unique_ptr<Histogram>> histograms_;
};

}  // namespace

void use_prometheus() {
  set_metrics(std::make_unique<PrometheusMetrics>());
}

std::string prometheus_text(const std::vector<GaugeFamily>& more) {
  std::vector<prometheus::MetricFamily> all = registry()->Collect();
  for (const GaugeFamily& family : more) {
    if (family.samples.empty()) continue;
    prometheus::MetricFamily& made = all.emplace_back();
    made.name = family.name;
    made.help = family.help;
    made.type = prometheus::MetricType::Gauge;
    for (const auto& [labels, value] : family.samples) {
      prometheus::ClientMetric& metric = made.metric.emplace_back();
      for (const auto& [name, text] : labels) metric.label.push_back({name, text});
      metric.gauge.value = value;
    }
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace hearth::app
