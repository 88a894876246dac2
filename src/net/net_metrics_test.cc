#include "net/net_metrics.h"

#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "net/server_test.h"

namespace hearth::net {
namespace {

// Keeps the last value of each metric, by name and labels.
class Recorder : public Metrics {
 public:
  struct Value : Counter, Gauge, Histogram {
    void add(double amount) override {
      const std::lock_guard lock(mutex);
      value += amount;
    }
    void set(double now) override {
      const std::lock_guard lock(mutex);
      value = now;
    }
    void observe(double) override {}
    double get() {
      const std::lock_guard lock(mutex);
      return value;
    }
    std::mutex mutex;
    double value = 0;
  };
  Counter& counter(const std::string& name, const std::string&, const Labels& labels) override {
    return at(name, labels);
  }
  Gauge& gauge(const std::string& name, const std::string&, const Labels& labels) override {
    return at(name, labels);
  }
  Histogram& histogram(const std::string& name, const std::string&, const std::vector<double>&,
                       const Labels& labels) override {
    return at(name, labels);
  }
  Value& at(const std::string& name, const Labels& labels = {}) {
    const std::lock_guard lock(mutex_);
    return values_[{name, labels}];
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, Labels>, Value> values_;
};

TEST(NetMetrics, EachBoundIsShownAndCounted) {
  auto owned = std::make_unique<Recorder>();
  Recorder& recorder = *owned;
  set_metrics(std::move(owned));
  ServerOptions options;
  options.most_connections = 2;
  options.head_time = Duration::seconds(3);
  TestServer test(options);
  test.handler.on_rule = [](const RequestHead&) {
    BodyRule rule;
    rule.most_bytes = 4;
    return rule;
  };
  test.start();
  EXPECT_EQ(recorder.at("hearth_net_connections_bound").get(), 2);
  EXPECT_EQ(recorder.at("hearth_net_queued_requests_bound").get(), 4096);
  EXPECT_EQ(recorder.at("hearth_net_head_seconds_bound").get(), 3);
  const auto refused = [&](const char* bound) {
    return recorder.at("hearth_net_refused_total", {{"bound", bound}}).get();
  };
  {
    RawClient good(test.port()), slow(test.port());
    good.get("/");
    EXPECT_EQ(good.answer().status, 200);
    slow.send("GET");
    ASSERT_TRUE(eventually([&] { return recorder.at("hearth_net_connections").get() == 2; }));
    RawClient more(test.port());
    EXPECT_EQ(more.answer().status, 503);
    EXPECT_EQ(slow.answer().status, 408);
    good.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_EQ(good.answer().status, 413);
  }
  EXPECT_TRUE(eventually([&] { return recorder.at("hearth_net_connections").get() == 0; }));
  EXPECT_EQ(refused("connections"), 1);
  EXPECT_EQ(refused("head_time"), 1);
  EXPECT_EQ(refused("body_size"), 1);
  EXPECT_EQ(refused("queue"), 0);
  EXPECT_EQ(recorder.at("hearth_net_answers_total", {{"status", "2xx"}}).get(), 1);
  EXPECT_EQ(recorder.at("hearth_net_answers_total", {{"status", "4xx"}}).get(), 2);
  EXPECT_EQ(recorder.at("hearth_net_connections_accepted_total").get(), 2);
}

}  // namespace
}  // namespace hearth::net
