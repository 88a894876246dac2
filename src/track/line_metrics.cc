#include "track/line_metrics.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include <re2/re2.h>

#include "base/format.h"
#include "track/line_families.h"
#include "track/line_text.h"

namespace hearth::track {
namespace {

using re2::RE2;
using re2::StringPiece;

constexpr size_t kMostExpressionBytes = 4096;
constexpr int64_t kMostProgramBytes = 8 << 20;
constexpr int kMostGroups = 32;

std::string_view view(StringPiece text) {
  return {text.data(), text.size()};
}

// A pattern of the job file.
class OwnPattern {
 public:
  static Result<OwnPattern> compile(const std::string& expression) {
    if (expression.empty() || expression.size() > kMostExpressionBytes)
      return Error::invalid(format("a pattern has 1 to {} characters", kMostExpressionBytes));
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(kMostProgramBytes);
    OwnPattern pattern;
    pattern.expression_ = std::make_unique<RE2>(expression, options);
    if (!pattern.expression_->ok())
      return Error::invalid(
          format("'{}' is no expression: {}", expression, pattern.expression_->error()));
    const int groups = pattern.expression_->NumberOfCapturingGroups();
    if (groups > kMostGroups)
      return Error::invalid(
          format("'{}' has {} groups, {} are allowed", expression, groups, kMostGroups));
    for (const auto& [name, index] : pattern.expression_->NamedCapturingGroups())
      pattern.groups_.emplace(index, name);
    bool name = false, value = false, other = false;
    for (const auto& [index, group] : pattern.groups_) {
      name = name || group == "name";
      value = value || group == "value";
      other = other || (group != "step" && group != "epoch" && group != "name");
    }
    if (!other || (name && !value))
      return Error::invalid(
          format("'{}' has no named group that gives a metric", expression),
          R"(name one: loss=(?P<loss>\S+); or two: (?P<name>\w+)=(?P<value>\S+))");
    pattern.named_ = name;
    pattern.pieces_.resize(static_cast<size_t>(groups) + 1);
    return pattern;
  }

  // False: it does not match.
  bool read(std::string_view line, int64_t& step, std::vector<LinePoint>& to) {
    const StringPiece text(line.data(), line.size());
    if (!expression_->Match(text, 0, line.size(), RE2::UNANCHORED, pieces_.data(),
                            static_cast<int>(pieces_.size())))
      return false;
    std::optional<int64_t> said, epoch;
    std::string_view name;
    for (const auto& [index, group] : groups_) {
      const std::string_view found = view(pieces_[static_cast<size_t>(index)]);
      if (group == "step") said = step_in(found);
      if (group == "epoch") epoch = step_in(found);
      if (group == "name") name = found;
    }
    if (said || epoch) step = said.value_or(epoch.value_or(0));
    for (const auto& [index, group] : groups_) {
      if (group == "step" || group == "epoch" || group == "name") continue;
      const auto value = real_in(view(pieces_[static_cast<size_t>(index)]));
      const std::string_view key = group == "value" && named_ ? name : std::string_view(group);
      if (value && is_metric_name(key)) to.push_back({std::string(key), step, *value});
    }
    return true;
  }

 private:
  static std::optional<int64_t> step_in(std::string_view text) {
    const auto value = real_in(text);
    if (!value || !(std::abs(*value) < 9e15)) return std::nullopt;
    return static_cast<int64_t>(*value);
  }

  std::unique_ptr<RE2> expression_;
  std::map<int, std::string> groups_;
  std::vector<StringPiece> pieces_;
  bool named_ = false;
};

bool has_digit(std::string_view line) {
  for (const char c : line)
    if (c >= '0' && c <= '9') return true;
  return false;
}

}  // namespace

struct LineMetrics::State {
  struct Last {
    int64_t step = 0;
    double value = 0;
  };
  std::vector<OwnPattern> own;
  std::vector<std::unique_ptr<LineFamily>> families;
  std::map<std::string, Last, std::less<>> last;
  std::vector<LinePoint> points;
  std::string scratch;
  int64_t own_step = 0;

  // Once more what was said before.
  bool known(const LinePoint& point) {
    const auto found = last.find(point.key);
    if (found == last.end()) {
      if (last.size() >= kMostLineKeys) return true;
      last.emplace(point.key, Last{point.step, point.value});
      return false;
    }
    Last& before = found->second;
    const bool same =
        before.step == point.step &&
        (before.value == point.value || (std::isnan(before.value) && std::isnan(point.value)));
    before = {point.step, point.value};
    return same;
  }
};

LineMetrics::LineMetrics(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineMetrics::LineMetrics(LineMetrics&&) noexcept = default;
LineMetrics& LineMetrics::operator=(LineMetrics&&) noexcept = default;
LineMetrics::~LineMetrics() = default;

Result<LineMetrics> LineMetrics::make(const std::vector<std::string>& own, BuiltIn built_in) {
  if (own.size() > kMostOwnPatterns)
    return Error::invalid(format("{} patterns, {} are allowed", own.size(), kMostOwnPatterns));
  auto state = std::make_unique<State>();
  for (const std::string& expression : own)
    state->own.push_back(TRY(OwnPattern::compile(expression)));
  if (built_in == BuiltIn::yes) state->families = line_families();
  return LineMetrics(std::move(state));
}

const std::vector<LinePoint>& LineMetrics::read(std::string_view line) {
  State& state = *state_;
  state.points.clear();
  if (line.size() > kMostMetricLineBytes || !has_digit(line)) {
    // "Eval begin..." says what follows though it has no number.
    if (!line.starts_with("Eval begin")) return state.points;
  }
  const std::string_view text = plain_text(line, state.scratch);
  bool taken = false;
  for (OwnPattern& pattern : state.own)
    if (pattern.read(text, state.own_step, state.points)) {
      taken = true;
      break;
    }
  if (!taken)
    for (const auto& family : state.families)
      if (family->read(text, state.points)) break;
  std::erase_if(state.points, [&](const LinePoint& point) { return state.known(point); });
  return state.points;
}

}  // namespace hearth::track
