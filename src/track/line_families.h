// The built-in patterns of line_metrics.h: a reader for each family of programs. Each looks for
// words that its lines hold before it runs an expression.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "track/line_metrics.h"

namespace hearth::track {

class LineFamily {
 public:
  virtual ~LineFamily() = default;
  // True if the line is of this family, whether or not it gave points.
  virtual bool read(std::string_view line, std::vector<LinePoint>& to) = 0;
};

// In the order in which a line is shown to them. `key=value` is the last.
std::vector<std::unique_ptr<LineFamily>> line_families();

std::unique_ptr<LineFamily> caffe_lines();  // and scikit-learn
std::unique_ptr<LineFamily> mxnet_lines();
std::unique_ptr<LineFamily> bar_lines();       // Keras, Paddle
std::unique_ptr<LineFamily> boosting_lines();  // XGBoost, LightGBM
std::unique_ptr<LineFamily> cntk_lines();
std::unique_ptr<LineFamily> torch_lines();
std::unique_ptr<LineFamily> hugging_face_lines();
std::unique_ptr<LineFamily> epoch_lines();  // flax, Theano, MindSpore
std::unique_ptr<LineFamily> key_value_lines();

}  // namespace hearth::track
