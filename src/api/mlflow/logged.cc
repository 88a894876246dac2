#include "api/mlflow/logged.h"

#include <array>
#include <charconv>

#include "api/mlflow/face.h"
#include "api/mlflow/limits.h"

namespace hearth::api::mlflow {
namespace {

constexpr size_t kMostDigits = 15;        // of a whole number, which a double then holds too
constexpr size_t kLeastMetricBytes = 36;  // {"key":"a","value":1,"timestamp":0}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Goes over a body from left to right; false where it is not what is looked for.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool skip(char wanted) {
    space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  size_t size() const { return text_.size(); }
  bool at_end() {
    space();
    return at_ == text_.size();
  }
  // Printable ASCII without an escape.
  bool text(std::string_view& value) {
    if (!skip('"')) return false;
    const size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return value = text_.substr(begin, at_++ - begin), true;
      if (c == '\\' || c < ' ' || c > '~') return false;
    }
    return false;
  }
  bool whole(int64_t& value) {
    const std::string_view digits = number();
    const bool negative = digits.starts_with('-');
    if (digits.size() > kMostDigits || digits.size() == (negative ? 1 : 0)) return false;
    if (digits.find_first_not_of("0123456789", negative ? 1 : 0) != std::string_view::npos)
      return false;
    if (digits.size() > 1 && digits[negative ? 1 : 0] == '0') return false;
    return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
  }
  bool real(double& value) {
    const std::string_view digits = number();
    if (!is_json_number(digits)) return false;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return failure == std::errc() && end == digits.data() + digits.size();
  }

 private:
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  std::string_view number() {
    space();
    const size_t end = std::min(text_.find_first_not_of("+-.0123456789Ee", at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }
  static bool is_json_number(std::string_view text) {
    const auto digits = [&] {
      const size_t before = text.size();
      while (!text.empty() && is_digit(text.front())) text.remove_prefix(1);
      return before - text.size();
    };
    if (text.starts_with('-')) text.remove_prefix(1);
    const bool zero = text.starts_with('0');
    const size_t count = digits();
    if (count == 0 || (zero && count > 1)) return false;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      if (digits() == 0) return false;
    }
    if (text.empty()) return true;
    if (text.front() != 'e' && text.front() != 'E') return false;
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    return digits() > 0 && text.empty();
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Members of a metric, each at most once.
struct QuickMetric {
  bool has_key = false, has_value = false, has_time = false, has_step = false;
  control::LoggedMetric metric;

  // False: it is no such member, or not a plain one.
  bool read(Scanner& in, std::string_view name) {
    if (name == "key" && !has_key) {
      std::string_view key;
      has_key = in.text(key) && !key.empty() && check_key(key, name).ok();
      metric.key = key;
      return has_key;
    }
    if (name == "value" && !has_value) return has_value = in.real(metric.value);
    if (name == "step" && !has_step) return has_step = in.whole(metric.step);
    if (name != "timestamp" || has_time) return false;
    int64_t millis = 0;
    if (!in.whole(millis)) return false;
    const auto time = time_of(name, millis);
    if (time.ok()) metric.time = *time;
    return has_time = time.ok();
  }
  bool whole() const { return has_key && has_value && has_time; }
};

// {"name": value...}: each(name) reads one value.
template <typename Each>
bool read_object(Scanner& in, Each each) {
  if (!in.skip('{')) return false;
  do {
    std::string_view name;
    if (!in.text(name) || !in.skip(':') || !each(name)) return false;
  } while (in.skip(','));
  return in.skip('}');
}

bool read_list(Scanner& in, std::vector<control::LoggedMetric>& metrics) {
  if (!in.skip('[')) return false;
  do {
    QuickMetric one;
    const bool read = read_object(in, [&](std::string_view name) { return one.read(in, name); });
    if (!read || !one.whole() || metrics.size() == kMostBatchMetrics) return false;
    if (metrics.empty()) metrics.reserve(in.size() / kLeastMetricBytes);
    metrics.push_back(std::move(one.metric));
  } while (in.skip(','));
  return in.skip(']');
}

// The run's name, old or new: of two different ones the newer counts.
bool read_run(Scanner& in, std::string_view name, std::string& run_id, std::string& run_uuid) {
  std::string& to = name == "run_id" ? run_id : run_uuid;
  std::string_view id;
  if (!to.empty() || !in.text(id) || id.empty()) return false;
  to = id;
  return true;
}

std::optional<QuickMetrics> finished(Scanner& in, QuickMetrics found, std::string run_uuid) {
  if (!in.at_end()) return std::nullopt;
  if (found.run_id.empty()) found.run_id = std::move(run_uuid);
  if (found.run_id.empty() || found.metrics.empty()) return std::nullopt;
  return found;
}

}  // namespace

Result<control::LoggedMetric> metric_of(const Fields& args, const std::string& prefix) {
  control::LoggedMetric metric;
  metric.key = TRY(args.need_text("key"));
  TRY(check_key(metric.key, prefix + "name"));
  metric.value = TRY(args.need_real("value"));
  metric.time = TRY(time_of(prefix + "timestamp", TRY(args.need_integer("timestamp"))));
  metric.step = TRY(args.integer("step")).value_or(0);
  metric.model_id = TRY(args.text("model_id"));
  metric.dataset_name = TRY(args.text("dataset_name"));
  metric.dataset_digest = TRY(args.text("dataset_digest"));
  return metric;
}

std::optional<QuickMetrics> read_metric_quickly(std::string_view body) {
  Scanner in(body);
  QuickMetrics found;
  QuickMetric one;
  std::string run_uuid;
  const bool read = read_object(in, [&](std::string_view name) {
    if (name == "run_id" || name == "run_uuid") return read_run(in, name, found.run_id, run_uuid);
    return one.read(in, name);
  });
  if (!read || !one.whole()) return std::nullopt;
  found.metrics.push_back(std::move(one.metric));
  return finished(in, std::move(found), std::move(run_uuid));
}

std::optional<QuickMetrics> read_batch_quickly(std::string_view body) {
  if (body.size() > kMostBatchBytes) return std::nullopt;
  Scanner in(body);
  QuickMetrics found;
  std::string run_uuid;
  const bool read = read_object(in, [&](std::string_view name) {
    if (name == "run_id" || name == "run_uuid") return read_run(in, name, found.run_id, run_uuid);
    return name == "metrics" && found.metrics.empty() && read_list(in, found.metrics);
  });
  if (!read) return std::nullopt;
  return finished(in, std::move(found), std::move(run_uuid));
}

}  // namespace hearth::api::mlflow
