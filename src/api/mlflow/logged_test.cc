#include "api/mlflow/logged.h"

#include <cmath>

#include <gtest/gtest.h>

#include "api/mlflow/read_generally_test.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/id.h"

namespace hearth::api::mlflow {
namespace {

std::string text_of(const std::string& run_id, const control::KeyedPoints& points) {
  std::string text = run_id;
  for (size_t i = 0; i < points.keys.size(); ++i)
    for (const auto& p : points.of(i))
      text += format("|{}={} {} {}", points.keys[i], p.value, p.time.micros, p.step);
  return text;
}
std::string text_of(const std::optional<QuickMetrics>& found) {
  return found ? text_of(found->run_id, found->points) : "nothing";
}
std::string text_of(const std::optional<Logged>& found) {
  if (!found) return "nothing";
  control::PointCollector points;
  for (const control::LoggedMetric& m : found->batch.metrics) {
    points.add(m.key, {m.step, m.time, m.value});
    if (!(m.model_id + m.dataset_name + m.dataset_digest).empty()) return "measured on something";
  }
  if (found->batch.params.size() + found->batch.tags.size() > 0) return "not metrics alone";
  return text_of(found->run_id, points.take());
}

constexpr std::string_view kMetric =
    R"({"run_id": "r1", "key": "val/loss", "value": -1.5e-3, "timestamp": 1700000000000,)"
    R"( "step": 7})";
constexpr std::string_view kBatch =
    R"({"run_uuid":"r2","run_id":"r1","metrics":[{"key":"a","value":1,"timestamp":5,"step":-3},)"
    R"({"value":0.25,"key":"b c","timestamp":0}]})";

TEST(MlflowLogged, ReadsWhatClientsSend) {
  EXPECT_EQ(text_of(read_metric_quickly(kMetric)), "r1|val/loss=-0.0015 1700000000000000 7");
  EXPECT_EQ(text_of(read_batch_quickly(kBatch)), "r1|a=1 5000 -3|b c=0.25 0 0");
  for (const char* word : {"nan", "inf", "-inf"}) {
    const std::string said = word[0] == 'n' ? "NaN" : word[0] == 'i' ? "Infinity" : "-Infinity";
    const std::string body =
        format(R"({{"run_id":"r","key":"a","value":"{}","timestamp":5}})", said);
    EXPECT_EQ(text_of(read_metric_quickly(body)), format("r|a={} 5000 0", word));
  }
  EXPECT_EQ(read_metric_quickly(R"({"run_uuid":"r2","key":"a","value":1,"timestamp":5})")->run_id,
            "r2");
}

TEST(MlflowLogged, LeavesTheRestToTheGeneralWay) {
  for (const char* body : {
           "",
           "{}",
           "[]",
           "nonsense",
           R"({"run_id":"r","key":"a","value":1,"timestamp":5} x)",
           R"({"run_id":"r","key":"a","value":"nan","timestamp":5})",
           R"({"run_id":"r","key":"a","value":"1","timestamp":5})",
           R"({"run_id":"r","key":"a","value":NaN,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":01,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":1.,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":+1,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":1e,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":1e999,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":-,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":-5})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":5.0})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":"5"})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":999999999999999})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":12345678901234567890})",
           R"({"run_id":"r","key":"a","value":1})",
           R"({"run_id":"r","key":"","value":1,"timestamp":5})",
           R"({"run_id":"r","key":"../a","value":1,"timestamp":5})",
           R"({"run_id":"r","key":"a?","value":1,"timestamp":5})",
           R"({"run_id":"r","key":"\u0061","value":1,"timestamp":5})",
           R"({"run_id":"r","key":"ä","value":1,"timestamp":5})",
           R"({"run_id":"","key":"a","value":1,"timestamp":5})",
           R"({"key":"a","value":1,"timestamp":5})",
           R"({"run_id":"r","key":"a","key":"b","value":1,"timestamp":5})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":5,"step":null})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":5,"step":00})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":5,"model_id":"m"})",
           R"({"run_id":"r","key":"a","value":1,"timestamp":5,})",
       })
    EXPECT_FALSE(read_metric_quickly(body)) << body;
  for (const char* body : {
           R"({"run_id":"r","metrics":[]})",
           R"({"run_id":"r"})",
           R"({"run_id":"r","metrics":[{"key":"a","value":1,"timestamp":5}],"params":[]})",
           R"({"run_id":"r","metrics":[{"key":"a","value":1,"timestamp":5}],"metrics":[]})",
           R"({"run_id":"r","metrics":[{"key":"a","value":1,"timestamp":5},]})",
           R"({"run_id":"r","metrics":[{"key":"a","value":1,"timestamp":5})",
           // begins as MLflow's client writes it, and goes on without a step
           R"({"run_id":"r","metrics":[{"key": "a(", "value": 1, "timestamp": 5}]})",
           R"({"run_id":"r","metrics":[{"key": "../a", "value": 1, "timestamp": 5}]})",
       })
    EXPECT_FALSE(read_batch_quickly(body)) << body;
}

// Numbers of all lengths and sizes, to the bit.
TEST(MlflowLogged, ValuesAreTheNearestDoubles) {
  SeededRandom random(3);
  const auto check = [](const std::string& digits) {
    const std::string body =
        format(R"({{"run_id":"r","key":"a","value":{},"timestamp":5}})", digits);
    const auto quick = read_metric_quickly(body);
    ASSERT_TRUE(quick) << digits;
    EXPECT_EQ(std::bit_cast<uint64_t>(quick->points.points[0].value),
              std::bit_cast<uint64_t>(std::strtod(digits.c_str(), nullptr)))
        << digits;
  };
  for (const char* digits :
       {"0", "-0.0", "9007199254740992", "9007199254740993", "9007199254740993e-10", "1e22", "1e23",
        "123456789012345678901234567890", "0.00000000000000000000000000000001", "5e-324",
        "1.7976931348623157e308", "2.2250738585072011e-308", "0e999999999999", "1E+5", "3e-5",
        "0.1234567890123456789012345678901234567890"})
    check(digits);
  for (int i = 0; i < 20'000; ++i) {
    check(format("{}", random.unit()));
    check(format("{:.{}e}", random.unit() * 2 - 1, random.below(25)));
    const auto wild = std::bit_cast<double>(random.u64());
    if (std::isnormal(wild)) check(format("{}", wild));
  }
}

// Whatever is read quickly is what the general way makes of it.
TEST(MlflowLogged, BothWaysAgree) {
  SeededRandom random(7);
  constexpr std::string_view kPieces = "{}[],:\"\\ -+.eE0129 abn/_\n";
  int quick = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool batch = random.u64() % 2 == 0;
    std::string body(batch ? kBatch : kMetric);
    const uint64_t changes = random.u64() % 3;
    for (uint64_t n = 0; n < changes; ++n) {
      const size_t at = random.u64() % body.size();
      const char piece = kPieces[random.u64() % kPieces.size()];
      if (random.u64() % 2 == 0)
        body[at] = piece;
      else
        body.insert(at, 1, piece);
    }
    const auto found = batch ? read_batch_quickly(body) : read_metric_quickly(body);
    if (!found) continue;
    ++quick;
    EXPECT_EQ(text_of(found), text_of(read_generally(body, batch))) << body;
  }
  EXPECT_GT(quick, 5000);
}

}  // namespace
}  // namespace hearth::api::mlflow
