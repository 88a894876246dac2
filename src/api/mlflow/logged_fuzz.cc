// Any bytes as the body of log-batch or log-metric: what is read in one pass is what the general
// way reads, to the bit; and what that reads, written plainly, is read in one pass.
#include <bit>
#include <cstdint>

#include "api/mlflow/face.h"
#include "api/mlflow/read_generally_test.h"
#include "base/format.h"

namespace {
using namespace hearth;
using namespace hearth::api::mlflow;

std::optional<QuickMetrics> read_quickly(std::string_view body, bool batch) {
  return batch ? read_batch_quickly(body) : read_metric_quickly(body);
}

void check_same(const QuickMetrics& quick, const Logged& general) {
  CHECK(quick.run_id == general.run_id);
  CHECK(general.batch.params.empty() && general.batch.tags.empty());
  control::PointCollector collector;
  for (const control::LoggedMetric& m : general.batch.metrics) {
    CHECK(m.model_id.empty() && m.dataset_name.empty() && m.dataset_digest.empty());
    collector.add(m.key, {m.step, m.time, m.value});
  }
  const control::KeyedPoints points = collector.take();
  CHECK(quick.points.keys == points.keys && quick.points.ends == points.ends);
  for (size_t i = 0; i < points.points.size(); ++i) {
    const auto &a = quick.points.points[i], &b = points.points[i];
    CHECK(a.step == b.step && a.time.micros == b.time.micros);
    CHECK(std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value));
  }
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// As clients send it; nothing when it holds what they do not send so.
std::optional<std::string> written(const Logged& logged, bool batch) {
  constexpr int64_t kMostWhole = 999'999'999'999'999;
  if (!is_plain(logged.run_id) || logged.batch.metrics.empty()) return std::nullopt;
  std::string body = "{\"run_id\": \"" + logged.run_id + "\", ";
  if (batch) body += "\"metrics\": [";
  for (const control::LoggedMetric& m : logged.batch.metrics) {
    if (!is_plain(m.key) || m.step < -kMostWhole || m.step > kMostWhole) return std::nullopt;
    if (&m != &logged.batch.metrics.front()) body += ", ";
    body += format("{}\"key\": \"{}\", \"value\": ", batch ? "{" : "", m.key);
    write_json_real(m.value, body);
    body += format(", \"timestamp\": {}, \"step\": {}", millis(m.time), m.step);
    body += batch ? "}" : "";
  }
  body += batch ? "]}" : "}";
  return body;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool batch = data[0] % 2 == 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto quick = read_quickly(body, batch);
  auto general = read_generally(body, batch);
  if (quick) CHECK(general);
  if (quick) check_same(*quick, *general);
  if (!general) return 0;
  general->batch.params.clear();
  general->batch.tags.clear();
  for (control::LoggedMetric& m : general->batch.metrics) {
    m.model_id.clear();
    m.dataset_name.clear();
    m.dataset_digest.clear();
  }
  const auto text = written(*general, batch);
  if (!text) return 0;
  const auto again = read_quickly(*text, batch);
  CHECK(again);
  check_same(*again, *general);
  return 0;
}
