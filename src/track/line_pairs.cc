// The families whose lines are a head and pairs: progress bars, boosting, dicts, key=value.
#include <algorithm>
#include <array>

#include "track/line_families.h"
#include "track/line_text.h"

namespace hearth::track {
namespace {

void add(std::vector<LinePoint>& to, std::string key, int64_t step, double value) {
  if (to.size() < kMostLinePoints) to.push_back({std::move(key), step, value});
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "904/938" and what follows a blank; nothing where it is no fraction.
struct Fraction {
  int64_t part = 0, whole = 0;
  std::string_view rest;
};
std::optional<Fraction> fraction_at(std::string_view text) {
  std::string_view rest = text;
  const std::string_view head = take_part(rest, " ");
  const size_t slash = head.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto part = count_in(head.substr(0, slash)), whole = count_in(head.substr(slash + 1));
  if (!part || !whole) return std::nullopt;
  return Fraction{*part, *whole, rest};
}

// Keras (model.fit, verbose 1 and 2) and Paddle (hapi): "Epoch 2/3", then "900/938 ... - loss:
// 0.3".
class Bars : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (line.starts_with("Epoch ")) {
      const auto head = fraction_at(line.substr(6));
      if (!head || !trimmed(head->rest).empty()) return false;
      *this = Bars{};
      epoch_ = head->part;
      return true;
    }
    if (line.starts_with("Eval begin")) {
      evaluating_ = true;
      return true;
    }
    std::string_view text = line;
    if (text.starts_with("step ")) text = trimmed(text.substr(5));
    if (text.empty() || !is_digit(text.front())) return false;
    const auto head = fraction_at(text);
    if (!head || head->part == 0 || head->part > head->whole) return false;
    return bar(*head, to);
  }

 private:
  bool bar(const Fraction& head, std::vector<LinePoint>& to) {
    const size_t before = to.size();
    // Behind the epoch's end another bar is model.evaluate's.
    if (done_ && (head.part < head.whole || head.whole != batches_)) evaluating_ = true;
    if (!evaluating_) {
      batches_ = head.whole;
      done_ = head.part == head.whole;
      step_ = std::max<int64_t>(epoch_ - 1, 0) * head.whole + head.part;
    } else if (head.part < head.whole) {
      return true;  // an evaluation is one number, not a course
    }
    std::string_view rest = head.rest;
    if (rest.starts_with("- ")) rest.remove_prefix(2);  // Paddle without its bar
    while (!rest.empty()) {
      const auto pair = named_real(take_part(rest, " - "), ':');
      if (pair && is_metric_name(pair->name))
        add(to, (evaluating_ ? "eval/" : "") + std::string(pair->name), step_, pair->value);
    }
    return to.size() > before;
  }

  int64_t epoch_ = 0, batches_ = 0, step_ = 0;
  bool done_ = false, evaluating_ = false;
};

// "0.41594", or "0.41594+0.00312" of cross-validation: the mean.
std::optional<double> mean_in(std::string_view text) {
  text = trimmed(text);
  const size_t plus = text.find('+', 1);
  const bool exponent = plus != std::string_view::npos && (text[plus - 1] | 32) == 'e';
  return real_in(plus == std::string_view::npos || exponent ? text : trimmed(text.substr(0, plus)));
}

// XGBoost "[9]<TAB>train-mlogloss:0.41594", LightGBM "[10]<TAB>training's multi_logloss: 0.54".
class Boosting : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (!line.starts_with('[')) return false;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line[tab - 1] != ']') return false;
    // A tracker sets the time before it: "[05:45:01] [0]".
    const size_t open = line.rfind('[', tab);
    const auto round = count_in(line.substr(open + 1, tab - open - 2));
    if (!round) return false;
    const size_t before = to.size();
    std::string_view rest = line.substr(tab + 1);
    while (!rest.empty()) {
      const std::string_view part = take_part(rest, "\t");
      const size_t colon = part.rfind(':');
      if (colon == std::string_view::npos) continue;
      const auto value = mean_in(part.substr(colon + 1));
      const std::string key = key_of(trimmed(part.substr(0, colon)));
      if (value && is_metric_name(key)) add(to, key, *round, *value);
    }
    return to.size() > before;
  }

 private:
  static std::string key_of(std::string_view name) {
    size_t at = name.find("'s "), length = 3;
    if (at == std::string_view::npos) {
      at = name.find('-');
      length = 1;
    }
    if (at == std::string_view::npos || at == 0) return std::string(name);
    return std::string(name.substr(0, at)) + "/" + std::string(name.substr(at + length));
  }
};

// "{'loss': 0.6222, 'grad_norm': 1.43, 'learning_rate': 0.0005, 'epoch': 1.0}"
class HuggingFace : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (!line.starts_with("{'") || !line.ends_with('}') ||
        line.find("'epoch': ") == std::string_view::npos)
      return false;
    const size_t before = to.size();
    const bool training = line.find("'loss': ") != std::string_view::npos;
    const int64_t step = training ? reports_ + 1 : reports_;
    bool epoch = false;
    std::string_view rest = line.substr(1, line.size() - 2);
    while (!rest.empty()) {
      std::string_view part = take_part(rest, ", ");
      const size_t colon = part.find("': ");
      if (!part.starts_with('\'') || colon == std::string_view::npos) continue;
      std::string_view number = part.substr(colon + 3);
      if (number.size() > 2 && number.front() == '\'' && number.back() == '\'')
        number = number.substr(1, number.size() - 2);  // later versions quote them
      const auto value = real_in(number);
      const std::string_view name = part.substr(1, colon - 1);
      if (!value || !is_metric_name(name)) continue;
      epoch = epoch || name == "epoch";
      add(to, std::string(name), step, *value);
    }
    // Some other dict.
    if (!epoch) to.resize(before);
    if (epoch) reports_ = step;
    return epoch;
  }

 private:
  int64_t reports_ = 0;
};

// "step=100 loss=0.5 lr=1e-3", "epoch=3, train_loss=0.4, val_acc=0.8". Logs are full of pairs that
// are no metrics (port=8080): a line counts if it says a step, else its keys of known words alone.
class KeyValue : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (line.find('=') == std::string_view::npos) return false;
    pairs_.clear();
    collect(line);
    if (pairs_.empty()) return false;
    std::optional<int64_t> said, epoch;
    for (const NamedReal& pair : pairs_) {
      if (is_step(pair.name) && whole(pair.value)) said = static_cast<int64_t>(pair.value);
      if (pair.name == "epoch" && whole(pair.value)) epoch = static_cast<int64_t>(pair.value);
    }
    const size_t before = to.size();
    // Within an epoch the step may begin anew: nothing says by how much, so it is taken as it is.
    if (said || epoch) step_ = said.value_or(epoch.value_or(0));
    const bool any = said || epoch;
    const auto bar = any ? std::nullopt : bar_at(line);
    const int64_t counted = any ? step_ : bar ? *bar : ++lines_;
    for (const NamedReal& pair : pairs_) {
      if (is_step(pair.name) || pair.name == "epoch" || pair.name == "epochs") continue;
      if (any || known_word(pair.name)) add(to, std::string(pair.name), counted, pair.value);
    }
    if (to.size() == before && !any && !bar) --lines_;
    return to.size() > before;
  }

 private:
  void collect(std::string_view line) {
    while (!line.empty() && pairs_.size() < kMostLinePoints) {
      const size_t end = line.find_first_of(" \t,;|()[]{}");
      std::string_view word = line.substr(0, end);
      // "1,234.5" is no 1, and of "1,2,3" nobody knows which one is meant.
      const bool torn = end != std::string_view::npos && line[end] == ',' &&
                        end + 1 < line.size() && line[end + 1] >= '0' && line[end + 1] <= '9';
      line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos || torn) continue;
      if (word.ends_with('%')) word.remove_suffix(1);
      const auto value = real_in(word.substr(equals + 1));
      if (value && is_metric_name(word.substr(0, equals)))
        pairs_.push_back({word.substr(0, equals), *value});
    }
  }

  // tqdm's " 50%|##### | 938/1876 [00:05<00:05, 170.5it/s, loss=0.5]", which begins anew in each
  // epoch: where the numbers fall, all of the bar before counts as done.
  std::optional<int64_t> bar_at(std::string_view line) {
    const size_t open = line.rfind(" [");
    const size_t mark = open == std::string_view::npos ? open : line.rfind('|', open);
    if (mark == std::string_view::npos) return std::nullopt;
    const auto at = fraction_at(trimmed(line.substr(mark + 1)));
    if (!at) return std::nullopt;
    if (at->part < bar_.part) bar_base_ += bar_.whole;
    bar_ = {at->part, at->whole, {}};
    return bar_base_ + at->part;
  }

  static bool whole(double value) {
    return value >= 0 && value < 9e15 && value == static_cast<double>(static_cast<int64_t>(value));
  }

  static bool is_step(std::string_view name) {
    static constexpr std::array<std::string_view, 8> kSteps{
        "step", "global_step", "iter", "iteration", "steps", "it", "batch", "round"};
    return std::ranges::find(kSteps, name) != kSteps.end();
  }

  // A part of the name between . _ - / @ is a word that metrics are called by.
  static bool known_word(std::string_view name) {
    static constexpr std::array<std::string_view, 28> kWords{
        "loss",      "acc",    "accuracy", "err",  "error",      "auc",     "f1",
        "precision", "recall", "lr",       "ppl",  "perplexity", "mse",     "mae",
        "rmse",      "reward", "score",    "bleu", "iou",        "map",     "nll",
        "dice",      "psnr",   "ssim",     "fid",  "wer",        "logloss", "kl"};
    while (!name.empty()) {
      const size_t end = name.find_first_of("._-/@");
      const std::string_view part = name.substr(0, end);
      name = end == std::string_view::npos ? std::string_view() : name.substr(end + 1);
      if (part.size() > 12) continue;
      std::array<char, 12> low{};
      std::ranges::transform(part, low.begin(), [](char c) { return static_cast<char>(c | 32); });
      if (std::ranges::find(kWords, std::string_view(low.data(), part.size())) != kWords.end())
        return true;
    }
    return false;
  }

  std::vector<NamedReal> pairs_;
  Fraction bar_;
  int64_t step_ = 0, lines_ = 0, bar_base_ = 0;
};

}  // namespace

std::unique_ptr<LineFamily> bar_lines() {
  return std::make_unique<Bars>();
}
std::unique_ptr<LineFamily> boosting_lines() {
  return std::make_unique<Boosting>();
}
std::unique_ptr<LineFamily> hugging_face_lines() {
  return std::make_unique<HuggingFace>();
}
std::unique_ptr<LineFamily> key_value_lines() {
  return std::make_unique<KeyValue>();
}

std::vector<std::unique_ptr<LineFamily>> line_families() {
  std::vector<std::unique_ptr<LineFamily>> all;
  for (const auto make : {bar_lines, boosting_lines, hugging_face_lines, caffe_lines, mxnet_lines,
                          cntk_lines, torch_lines, epoch_lines, key_value_lines})
    all.push_back(make());
  return all;
}

}  // namespace hearth::track
