// Metrics out of plain log lines, so that a program without any client is charted too.
//
// Built in are the words of Caffe, MXNet, Keras, Paddle, XGBoost, LightGBM, CNTK, PyTorch's
// examples, Hugging Face, flax, Theano, MindSpore, scikit-learn, and `key=value`. Many of them say
// the step in another line than the number (`Epoch 2/3` before Keras' bars, `Testing net` before
// Caffe's outputs): LineMetrics remembers what has been said. What becomes of a line:
//
//   key    the program's own word for it. Where it names the set apart, `set/word`: `train/loss`,
//          `test/accuracy`, `validation/accuracy`; `eval/...` for Keras' and Paddle's evaluation
//   step   what the program counts: iterations (Caffe, scikit-learn), rounds (XGBoost, LightGBM),
//          batches over all epochs (Keras, Paddle, MXNet, CNTK, MindSpore, Theano), samples
//          over all epochs (PyTorch's MNIST), epochs (flax), reports (Hugging Face, whose
//          fractional epoch is a metric of its own)
//
// Own patterns are RE2 expressions with named groups: `step` and `epoch` say where, `name` with
// `value` a metric whose name stands in the line, every other group is a metric of that name. They
// come first: a line that one of them matches is not shown to the built-in ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth::track {

constexpr size_t kMostMetricLineBytes = 4096;  // longer lines hold data, not a report
constexpr size_t kMostLinePoints = 64;         // of one line
constexpr size_t kMostLineKeys = 1000;         // that are remembered, of one task
constexpr size_t kMostOwnPatterns = 32;

struct LinePoint {
  std::string key;
  int64_t step = 0;
  double value = 0;
  bool operator==(const LinePoint&) const = default;
};

// Not thread-safe; one for all lines of a task, in their order.
class LineMetrics {
 public:
  enum class BuiltIn { no, yes };
  // invalid: an own pattern is no expression, or has no group that gives a metric; says which.
  static Result<LineMetrics> make(const std::vector<std::string>& own = {},
                                  BuiltIn built_in = BuiltIn::yes);
  LineMetrics(LineMetrics&&) noexcept;
  LineMetrics& operator=(LineMetrics&&) noexcept;
  ~LineMetrics();

  // The points of this line; valid until the next call. A key that says the same step and value as
  // before (the last state of a bar comes twice) gives no point. Most lines cost ~100 ns.
  const std::vector<LinePoint>& read(std::string_view line);

 private:
  struct State;
  explicit LineMetrics(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hearth::track
