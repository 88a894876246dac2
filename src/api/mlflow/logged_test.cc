#include "api/mlflow/logged.h"

#include <gtest/gtest.h>

#include "api/mlflow/face.h"
#include "base/clock.h"
#include "base/id.h"

namespace hearth::api::mlflow {
namespace {

// As the general way reads a body; nothing for one that it refuses, or that says more than this.
std::optional<QuickMetrics> read_generally(std::string_view body, bool batch) {
  net::Request request;
  request.body = body;
  const auto arguments = Arguments::of(request);
  if (!arguments.ok()) return std::nullopt;
  const Fields fields = arguments->fields();
  QuickMetrics found;
  const auto id = run_id_of(fields);
  if (!id.ok()) return std::nullopt;
  found.run_id = *id;
  if (!batch) {
    auto metric = metric_of(fields, "");
    if (!metric.ok()) return std::nullopt;
    found.metrics.push_back(std::move(*metric));
    return found;
  }
  const auto all = fields.objects("metrics");
  if (!all.ok()) return std::nullopt;
  for (const Fields& one : *all) {
    auto metric = metric_of(one, "");
    if (!metric.ok()) return std::nullopt;
    found.metrics.push_back(std::move(*metric));
  }
  return found;
}

std::string text_of(const std::optional<QuickMetrics>& found) {
  if (!found) return "nothing";
  std::string text = found->run_id;
  for (const control::LoggedMetric& m : found->metrics)
    text += format("|{}={} {} {}|{}|{}|{}", m.key, m.value, m.time.micros, m.step, m.model_id,
                   m.dataset_name, m.dataset_digest);
  return text;
}

constexpr std::string_view kMetric =
    R"({"run_id": "r1", "key": "val/loss", "value": -1.5e-3, "timestamp": 1700000000000,)"
    R"( "step": 7})";
constexpr std::string_view kBatch =
    R"({"run_uuid":"r2","run_id":"r1","metrics":[{"key":"a","value":1,"timestamp":5,"step":-3},)"
    R"({"value":0.25,"key":"b c","timestamp":0}]})";

TEST(MlflowLogged, ReadsWhatClientsSend) {
  EXPECT_EQ(text_of(read_metric_quickly(kMetric)), "r1|val/loss=-0.0015 1700000000000000 7|||");
  EXPECT_EQ(text_of(read_batch_quickly(kBatch)), "r1|a=1 5000 -3||||b c=0.25 0 0|||");
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
           R"({"run_id":"r","key":"a","value":"NaN","timestamp":5})",
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
       })
    EXPECT_FALSE(read_batch_quickly(body)) << body;
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
