// The metric facade: counters, gauges and histograms by name; src/app puts prometheus-cpp behind
// it. Names are hearth_<room>_<what>_<unit>; bounds of queues and caches are gauges with a `bound`
// twin. What the cluster holds goes by its noun instead: hearth_node_gpus.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double amount = 1) = 0;
};
class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
  virtual void add(double amount) = 0;
};
class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
};

// Gauges that are worked out when they are asked for: what they tell of comes and goes.
struct GaugeFamily {
  std::string name, help;
  std::vector<std::pair<Labels, double>> samples;
};

class Metrics {
 public:
  virtual ~Metrics() = default;
  // The same name and labels give the same metric; the reference lives as long as the registry.
  virtual Counter& counter(const std::string& name, const std::string& help,
                           const Labels& = {}) = 0;
  virtual Gauge& gauge(const std::string& name, const std::string& help, const Labels& = {}) = 0;
  virtual Histogram& histogram(const std::string& name, const std::string& help,
                               const std::vector<double>& buckets, const Labels& = {}) = 0;
};

// The registry set by set_metrics; before that one that counts nothing.
Metrics& metrics();
void set_metrics(std::unique_ptr<Metrics> registry);  // before threads start

}  // namespace hearth
