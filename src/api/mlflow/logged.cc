#include "api/mlflow/logged.h"

#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>

#include "api/mlflow/face.h"
#include "api/mlflow/limits.h"

namespace hearth::api::mlflow {
namespace {

constexpr ptrdiff_t kMostWholeDigits = 15;  // of a whole number, which a double then holds too
constexpr ptrdiff_t kMostDigits = 19;       // of what 64 bits hold
constexpr int kFarPower = 100'000;          // beyond any power of ten that matters
constexpr size_t kUsualMetricBytes = 64;

// Whole numbers up to 2^53 and powers of ten up to 22 are doubles, so one rounding gives the
// nearest (Clinger, "How to read floating point numbers accurately", PLDI 1990).
constexpr uint64_t kMostExact = uint64_t{1} << 53;
constexpr int kMostExactPower = 22;
constexpr std::array<double, kMostExactPower + 1> kPowers = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Eight digits at once: pairs of neighbours are put together, then pairs of these, then of those.
constexpr size_t kWordDigits = 8;
constexpr uint64_t kWordPower = 100'000'000;
bool are_digits(uint64_t word) {
  constexpr uint64_t high = 0xf0f0f0f0f0f0f0f0, zeros = 0x3030303030303030;
  return (word & high) == zeros && ((word + 0x0606060606060606) & high) == zeros;
}
uint64_t number_of(uint64_t word) {
  word = (word & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8;
  word = (word & 0x00ff00ff00ff00ff) * 6553601 >> 16;
  return (word & 0x0000ffff0000ffff) * 42949672960001 >> 32;
}

// Goes over a body from left to right; false where it is not what is looked for.
class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  bool skip(char wanted) {
    space();
    return take(wanted);
  }
  bool at_end() {
    space();
    return at_ == end_;
  }
  // Printable ASCII without an escape.
  bool text(std::string_view& value) {
    if (!skip('"')) return false;
    const char* const begin = at_;
    for (; at_ != end_; ++at_) {
      const char c = *at_;
      if (c == '"') {
        value = {begin, static_cast<size_t>(at_++ - begin)};
        return true;
      }
      if (c == '\\' || c < ' ' || c > '~') return false;
    }
    return false;
  }
  // Goes on only behind these very letters.
  bool take(std::string_view wanted) {
    if (static_cast<size_t>(end_ - at_) < wanted.size() ||
        std::memcmp(at_, wanted.data(), wanted.size()) != 0)
      return false;
    at_ += wanted.size();
    return true;
  }
  const char* place() const { return at_; }
  void go_back(const char* place) { at_ = place; }
  // Goes on only behind that text and a colon.
  bool name_is(std::string_view wanted) {
    space();
    const size_t size = wanted.size() + 2;
    if (static_cast<size_t>(end_ - at_) < size || *at_ != '"' || at_[size - 1] != '"' ||
        std::memcmp(at_ + 1, wanted.data(), wanted.size()) != 0)
      return false;
    at_ += size;
    return skip(':');
  }
  bool whole(int64_t& value) {
    space();
    const bool negative = take('-');
    const char* const begin = at_;
    const uint64_t digits = take_digits(0);
    const ptrdiff_t count = at_ - begin;
    const bool plain = count > 0 && count <= kMostWholeDigits && (*begin != '0' || count == 1);
    if (!plain || (negative && digits == 0) || goes_on()) return false;
    value = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
    return true;
  }
  bool real(double& value) {
    space();
    if (at_ != end_ && *at_ == '"') return word(value);
    const char* const begin = at_;
    const bool negative = take('-');
    const char* const whole = at_;
    uint64_t digits = take_digits(0);
    ptrdiff_t count = at_ - whole;
    int power = 0;  // of ten
    if (count == 0 || (*whole == '0' && count > 1)) return false;
    if (take('.')) {
      const char* const fraction = at_;
      digits = take_digits(digits);
      if (at_ == fraction) return false;
      count += at_ - fraction;
      power = -static_cast<int>(std::min<ptrdiff_t>(at_ - fraction, kFarPower));
    }
    if ((take('e') || take('E')) && !exponent(power)) return false;
    if (goes_on()) return false;
    if (count <= kMostDigits && digits <= kMostExact && power >= -kMostExactPower &&
        power <= kMostExactPower) {
      const auto exact = static_cast<double>(digits);
      value = power < 0 ? exact / kPowers[static_cast<size_t>(-power)]
                        : exact * kPowers[static_cast<size_t>(power)];
      if (negative) value = -value;
      return true;
    }
    // What overflows or is nearly nothing fails.
    const auto [end, failure] = std::from_chars(begin, at_, value);
    return failure == std::errc() && end == at_;
  }

 private:
  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  // It is no number, or not all of it.
  bool goes_on() const {
    return at_ != end_ && (is_digit(*at_) || *at_ == '.' || *at_ == 'e' || *at_ == 'E' ||
                           *at_ == '+' || *at_ == '-');
  }
  // Those that are there, behind those that were; more than kMostDigits give nonsense.
  uint64_t take_digits(uint64_t digits) {
    uint64_t word = 0;
    while (static_cast<size_t>(end_ - at_) >= kWordDigits) {
      std::memcpy(&word, at_, sizeof word);
      if (!are_digits(word)) break;
      digits = digits * kWordPower + number_of(word);
      at_ += kWordDigits;
    }
    for (; at_ != end_ && is_digit(*at_); ++at_)
      digits = digits * 10 + static_cast<uint64_t>(*at_ - '0');
    return digits;
  }
  bool exponent(int& power) {
    const bool negative = take('-');
    if (!negative) take('+');
    const char* const begin = at_;
    int size = 0;
    for (; at_ != end_ && is_digit(*at_); ++at_)
      size = std::min(size * 10 + (*at_ - '0'), kFarPower);
    power += negative ? -size : size;
    return at_ != begin;
  }
  bool word(double& value) {
    std::string_view said;
    if (!text(said)) return false;
    const bool nan = said == "NaN", infinity = said == "Infinity";
    if (!nan && !infinity && said != "-Infinity") return false;
    using Limits = std::numeric_limits<double>;
    value = nan ? Limits::quiet_NaN() : infinity ? Limits::infinity() : -Limits::infinity();
    return true;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
};

// Members come at most once, in any order.
class Reader {
 public:
  explicit Reader(std::string_view body) : in_(body) {}

  std::optional<QuickMetrics> metric() {
    Seen seen;
    if (!object([&] { return run() || member(seen); }) || !add(seen)) return std::nullopt;
    return finished();
  }
  std::optional<QuickMetrics> batch() {
    if (!object([&] { return run() || (in_.name_is("metrics") && list()); })) return std::nullopt;
    return finished();
  }

 private:
  struct Seen {
    bool key = false, value = false, time = false, step = false;
    uint32_t number = 0;
    double real = 0;
    int64_t millis = 0, whole = 0;
  };

  // {"name": value...}: each() reads one of them.
  template <typename Each>
  bool object(Each each) {
    if (!in_.skip('{')) return false;
    do
      if (!each()) return false;
    while (in_.skip(','));
    return in_.skip('}');
  }
  // The run's name, old or new: of two different ones the newer counts.
  bool run() {
    for (const auto& [name, to] : {std::pair("run_id", &id_), std::pair("run_uuid", &uuid_)})
      if (to->empty() && in_.name_is(name)) {
        std::string_view id;
        if (!in_.text(id) || id.empty()) return false;
        *to = id;
        return true;
      }
    return false;
  }
  bool list() {
    if (points_.points() > 0 || !in_.skip('[')) return false;
    points_.reserve(std::min(in_.size() / kUsualMetricBytes, kMostBatchMetrics));
    do {
      Seen seen;
      if (points_.points() == kMostBatchMetrics) return false;
      const bool read = usual(seen) || object([&] { return member(seen); });
      if (!read || !add(seen)) return false;
    } while (in_.skip(','));
    return in_.skip(']');
  }
  // The members, order and spaces of MLflow's client. False: looked at it all in vain.
  bool usual(Seen& seen) {
    in_.at_end();
    const char* const begin = in_.place();
    seen.key = seen.value = seen.time = seen.step = true;
    if (in_.take("{\"key\": ") && key(seen.number) && in_.take(", \"value\": ") &&
        in_.real(seen.real) && in_.take(", \"timestamp\": ") && in_.whole(seen.millis) &&
        in_.take(", \"step\": ") && in_.whole(seen.whole) && in_.take("}"))
      return true;
    in_.go_back(begin);
    seen = {};
    return false;
  }
  bool member(Seen& seen) {
    if (!seen.key && in_.name_is("key")) return seen.key = key(seen.number);
    if (!seen.value && in_.name_is("value")) return seen.value = in_.real(seen.real);
    if (!seen.time && in_.name_is("timestamp")) return seen.time = in_.whole(seen.millis);
    if (!seen.step && in_.name_is("step")) return seen.step = in_.whole(seen.whole);
    return false;
  }
  bool key(uint32_t& number) {
    std::string_view key;
    if (!in_.text(key) || key.empty()) return false;
    number = points_.number_of(key);
    if (number < checked_) return true;
    if (!check_key(key, "key").ok()) return false;  // asked again when it is read in another form
    checked_ = number + 1;
    return true;
  }
  bool add(const Seen& seen) {
    if (!seen.key || !seen.value || !seen.time) return false;
    const auto time = time_of("timestamp", seen.millis);
    if (time.ok()) points_.add(seen.number, {seen.whole, *time, seen.real});
    return time.ok();
  }
  std::optional<QuickMetrics> finished() {
    if (!in_.at_end() || (id_.empty() && uuid_.empty()) || points_.points() == 0)
      return std::nullopt;
    return QuickMetrics{std::string(id_.empty() ? uuid_ : id_), points_.take()};
  }

  Scanner in_;
  std::string_view id_, uuid_;
  control::PointCollector points_;
  uint32_t checked_ = 0;  // keys that are known to be good
};

// --- in any form --------------------------------------------------------------------------------

// `prefix`: "metrics[3].", for errors.
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

Result<void> check_counts(size_t metrics, size_t params, size_t tags) {
  struct Count {
    std::string_view what;
    size_t found, most;
  };
  const std::array counts = {
      Count{"metrics", metrics, kMostBatchMetrics}, Count{"params", params, kMostBatchParams},
      Count{"tags", tags, kMostBatchParams},
      Count{"metrics, params, and tags", metrics + params + tags, kMostBatchItems}};
  for (const Count& count : counts)
    if (count.found > count.most)
      return Error::invalid(
          format("A batch logging request can contain at most {} {}. Got {} {}. "
                 "Please split up {} across multiple requests and try again.",
                 count.most, count.what, count.found, count.what, count.what));
  return {};
}

Result<void> add_params(control::LogBatch& batch, const std::vector<Fields>& params) {
  std::set<std::string> keys;
  for (size_t i = 0; i < params.size(); ++i) {
    std::string key = TRY(params[i].need_text("key"));
    TRY(check_key(key, format("params[{}].key", i)));
    if (!keys.insert(key).second)
      return Error::invalid(
          format("Duplicate parameter keys have been submitted: ['{}']. Please "
                 "ensure the request contains only one param value per param "
                 "key.",
                 key));
    batch.params.emplace_back(std::move(key), cut(TRY(params[i].text("value")), kMostParam));
  }
  return {};
}

Result<void> add_tags(control::LogBatch& batch, const std::vector<Fields>& tags) {
  for (size_t i = 0; i < tags.size(); ++i) {
    std::string key = TRY(tags[i].need_text("key"));
    TRY(check_key(key, format("tags[{}].key", i)));
    batch.tags.emplace_back(std::move(key), cut(TRY(tags[i].text("value")), kMostTag));
  }
  return {};
}

}  // namespace

Result<Logged> read_metric(const Fields& args) {
  Logged logged;
  logged.run_id = TRY(run_id_of(args));
  logged.batch.metrics.push_back(TRY(metric_of(args, "")));
  return logged;
}

Result<Logged> read_batch(const Fields& args, size_t body_bytes) {
  if (body_bytes > kMostBatchBytes)
    return Error::invalid(
        format("Batched logging API requests must be at most {} bytes, got a "
               "request of size {}.",
               kMostBatchBytes, body_bytes));
  Logged logged;
  logged.run_id = TRY(run_id_of(args));
  const auto metrics = TRY(args.objects("metrics"));
  const auto params = TRY(args.objects("params"));
  const auto tags = TRY(args.objects("tags"));
  TRY(check_counts(metrics.size(), params.size(), tags.size()));
  logged.batch.metrics.reserve(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i)
    logged.batch.metrics.push_back(TRY(metric_of(metrics[i], format("metrics[{}].", i))));
  TRY(add_params(logged.batch, params));
  TRY(add_tags(logged.batch, tags));
  return logged;
}

std::optional<QuickMetrics> read_metric_quickly(std::string_view body) {
  return Reader(body).metric();
}

std::optional<QuickMetrics> read_batch_quickly(std::string_view body) {
  if (body.size() > kMostBatchBytes) return std::nullopt;
  return Reader(body).batch();
}

}  // namespace hearth::api::mlflow
