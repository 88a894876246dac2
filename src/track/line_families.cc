// The families whose lines are made for a log: Caffe, MXNet, CNTK, PyTorch's examples, flax,
// Theano, MindSpore. Those of bars, boosting, dicts and pairs stand in line_pairs.cc.
#include "track/line_families.h"

#include <algorithm>
#include <cmath>

#include <re2/re2.h>

#include "base/format.h"
#include "track/line_text.h"

namespace hearth::track {
namespace {

using re2::RE2;
using re2::StringPiece;

// Counts have nine digits at most, so that products of two stay whole.
constexpr double kMostBatches = 1e9;
#define HEARTH_REAL R"(([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|(?i:nan|inf))))"

bool has(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}
StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view view(StringPiece text) {
  return {text.data(), text.size()};
}

void add(std::vector<LinePoint>& to, std::string key, int64_t step, StringPiece number) {
  if (const auto value = real_in(view(number)); value && to.size() < kMostLinePoints)
    to.push_back({std::move(key), step, *value});
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
  });
  return out;
}

// Compiling an expression costs far more than running it: once for all.
template <typename T>
const T& shared() {
  static const T words;
  return words;
}

// Batches counted over all epochs, of a program that counts from anew in each and does not say how
// many an epoch has: what an earlier epoch had is the last number that was seen of it.
class BatchCount {
 public:
  int64_t at(int64_t epoch, int64_t batch) {
    begin(epoch);
    last_ = batch;
    return base_ + last_;
  }
  // Of a line that speaks of the epoch as a whole; the epoch's own number if no batch was seen.
  int64_t of_epoch(int64_t epoch) {
    begin(epoch);
    return base_ + last_ > 0 ? base_ + last_ : epoch;
  }
  // The epoch is over and had so many.
  void end(int64_t batches) {
    base_ += batches;
    last_ = 0;
  }
  int64_t base() const { return base_; }

 private:
  void begin(int64_t epoch) {
    if (epoch != epoch_) end(last_);
    epoch_ = epoch;
  }
  int64_t epoch_ = 0, base_ = 0, last_ = 0;
};

struct CaffeWords {
  const RE2 loss{R"(Iteration (\d{1,9})(?: \([^)]*\))?, loss = )" HEARTH_REAL};
  const RE2 testing{R"(Iteration (\d{1,9}), Testing net)"};
  const RE2 rate{R"(Iteration (\d{1,9}), lr = )" HEARTH_REAL};
  const RE2 output{R"((Train|Test) net output #\d+: (\S+) = )" HEARTH_REAL};
};

class Caffe : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    StringPiece a, b, c;
    if (has(line, " net output #") && RE2::PartialMatch(piece(line), e_.output, &a, &b, &c)) {
      const bool test = view(a) == "Test";
      add(to, format("{}/{}", test ? "test" : "train", view(b)), test ? test_ : train_, c);
      return true;
    }
    int64_t iteration = 0;
    if (!has(line, "Iteration ")) return false;
    if (RE2::PartialMatch(piece(line), e_.loss, &iteration, &a)) {
      train_ = iteration;
      add(to, "loss", iteration, a);
      return true;
    }
    if (RE2::PartialMatch(piece(line), e_.testing, &iteration)) {
      test_ = iteration;
      return true;
    }
    if (!RE2::PartialMatch(piece(line), e_.rate, &iteration, &a)) return false;
    train_ = iteration;
    add(to, "lr", iteration, a);
    return true;
  }

 private:
  int64_t train_ = 0, test_ = 0;
  const CaffeWords& e_ = shared<CaffeWords>();
};

struct MxnetWords {
  const RE2 batch{R"(Epoch\[(\d{1,9})\] Batch \[(?:\d+-)?(\d{1,9})\]\s+Speed: )" HEARTH_REAL
                  R"( samples/sec((?:\t[^\t=]+=[^\t]+)*))"};
  const RE2 epoch{R"(Epoch\[(\d{1,9})\] (Train|Validation)-([^\s=]+)=)" HEARTH_REAL};
};

class Mxnet : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (!has(line, "Epoch[")) return false;
    int64_t epoch = 0, batch = 0;
    StringPiece a, b, c;
    if (RE2::PartialMatch(piece(line), e_.batch, &epoch, &batch, &a, &b)) {
      const int64_t step = count_.at(epoch, batch);
      add(to, "samples_per_second", step, a);
      std::string_view rest = view(b);
      while (!rest.empty())
        if (const auto pair = named_real(take_part(rest, "\t"), '='))
          if (is_metric_name(pair->name) && to.size() < kMostLinePoints)
            to.push_back({std::string(pair->name), step, pair->value});
      return true;
    }
    if (!RE2::PartialMatch(piece(line), e_.epoch, &epoch, &a, &b, &c)) return false;
    add(to, lowered(view(a)) + "/" + std::string(view(b)), count_.of_epoch(epoch), c);
    return true;
  }

 private:
  BatchCount count_;
  const MxnetWords& e_ = shared<MxnetWords>();
};

struct CntkWords {
  const RE2 batch{R"(Minibatch\[ *(\d{1,9})- *(\d{1,9})(?:, *[\d.]+%)?\]: loss = )" HEARTH_REAL
                  R"( \* (\d{1,9})(?:, metric = )" HEARTH_REAL "%)?"};
  const RE2 epoch{R"(Finished Epoch\[(\d{1,9})(?: of \d+)?\]: \[(\w+)\] loss = )" HEARTH_REAL
                  R"( \* (\d{1,9})(?:, metric = )" HEARTH_REAL "%)?"};
};

class Cntk : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (has(line, "Minibatch[")) return batch(line, to);
    if (!has(line, "Finished Epoch[")) return false;
    int64_t epoch = 0, samples = 0;
    StringPiece set, loss, error;
    if (!RE2::PartialMatch(piece(line), e_.epoch, &epoch, &set, &loss, &samples, &error))
      return false;
    const std::string prefix = lowered(view(set)) + "/";
    if (samples_a_batch_ > 0) {
      const double batches = static_cast<double>(samples) / samples_a_batch_;
      count_.end(std::llround(std::min(batches, kMostBatches)));
    }
    const int64_t step = count_.base() > 0 ? count_.base() : epoch;
    add(to, prefix + "loss", step, loss);
    if (!error.empty()) add(to, prefix + "metric", step, error);
    return true;
  }

 private:
  bool batch(std::string_view line, std::vector<LinePoint>& to) {
    int64_t from = 0, last = 0, samples = 0;
    StringPiece loss, error;
    if (!RE2::PartialMatch(piece(line), e_.batch, &from, &last, &loss, &samples, &error))
      return false;
    if (last >= from)
      samples_a_batch_ = static_cast<double>(samples) / static_cast<double>(last - from + 1);
    const int64_t step = count_.base() + last;
    add(to, "loss", step, loss);
    if (!error.empty()) add(to, "metric", step, error);  // an error, in per cent
    return true;
  }

  BatchCount count_;
  double samples_a_batch_ = 0;
  const CntkWords& e_ = shared<CntkWords>();
};

struct TorchWords {
  const RE2 train{
      R"(Train Epoch: (\d{1,9}) \[(\d{1,9})/(\d{1,9}) \([\d.]+%\)\]\s+Loss: )" HEARTH_REAL};
  const RE2 test{"Test set: Average loss: " HEARTH_REAL R"(, Accuracy: (\d{1,9})/(\d{1,9}))"};
  const RE2 meters{R"(^Epoch: \[(\d{1,9})\]\[ *(\d{1,9})/(\d{1,9})\])"};
  const RE2 total{"(Acc@\\d+) +" HEARTH_REAL};
  const RE2 tutorial{R"(^Epoch:? \[(\d{1,9})/\d{1,9}\](?:,? (?:Step|Batch|Iter|Iteration):? )"
                     R"(\[(\d{1,9})/(\d{1,9})\])?[,:]? (.*)$)"};
};

// examples/mnist and examples/imagenet of PyTorch, and what tutorials print.
class Torch : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    int64_t epoch = 0, seen = 0, all = 0;
    StringPiece a;
    if (has(line, "Train Epoch: ") &&
        RE2::PartialMatch(piece(line), e_.train, &epoch, &seen, &all, &a)) {
      samples_ = std::max<int64_t>(epoch - 1, 0) * all + seen;
      epoch_end_ = std::max<int64_t>(epoch, 1) * all;
      add(to, "train/loss", samples_, a);
      return true;
    }
    if (has(line, "Test set: ") && RE2::PartialMatch(piece(line), e_.test, &a, &seen, &all)) {
      // Without a line of training before it, tests are counted.
      const int64_t step = epoch_end_ > 0 ? epoch_end_ : ++tests_;
      add(to, "test/loss", step, a);
      if (all > 0)
        to.push_back({"test/accuracy", step, static_cast<double>(seen) / static_cast<double>(all)});
      return true;
    }
    if (line.starts_with("Epoch") && has(line, "/") && tutorial(line, to)) return true;
    if (line.starts_with("Epoch: [")) return meters(line, to);
    if (!line.starts_with("*") || !has(line, "Acc@")) return false;
    return totals(line, to);
  }

 private:
  // "Epoch: [0][ 10/5005]<TAB>Time  0.5 ( 1.2)<TAB>Loss 6.9e+00 (6.9e+00)<TAB>Acc@1 ..."
  bool meters(std::string_view line, std::vector<LinePoint>& to) {
    int64_t epoch = 0, batch = 0, all = 0;
    if (!RE2::PartialMatch(piece(line), e_.meters, &epoch, &batch, &all)) return false;
    const int64_t step = epoch * all + batch;
    epoch_end_ = (epoch + 1) * all;
    take_part(line, "\t");
    while (!line.empty()) {
      std::string_view part = trimmed(take_part(line, "\t"));
      const std::string_view name = take_part(part, " ");
      std::string_view rest = trimmed(part);
      const auto value = real_in(take_part(rest, " "));
      if (value && is_metric_name(name) && to.size() < kMostLinePoints)
        to.push_back({"train/" + lowered(name), step, *value});
    }
    return true;
  }

  // "Epoch [1/5], Step [100/600], Loss: 0.2345", "Epoch [1/5], Train Loss: 0.5, Accuracy: 91.5%"
  bool tutorial(std::string_view line, std::vector<LinePoint>& to) {
    int64_t epoch = 0, batch = 0, all = 0;
    StringPiece batches, whole, tail;
    if (!RE2::PartialMatch(piece(line), e_.tutorial, &epoch, &batches, &whole, &tail)) return false;
    const bool in_epoch = !batches.empty();
    if (in_epoch) {
      batch = count_in(view(batches)).value_or(0);
      all = batches_ = count_in(view(whole)).value_or(0);
    }
    // Of a line that speaks of the epoch as a whole: all of its batches, if any were seen.
    if (epoch == 0) from_zero_ = 1;
    const int64_t before_it = std::max<int64_t>(epoch - 1 + from_zero_, 0);
    const int64_t step = in_epoch       ? before_it * all + batch
                         : batches_ > 0 ? (before_it + 1) * batches_
                                        : epoch;
    const size_t before = to.size();
    std::string_view rest = view(tail);
    while (!rest.empty()) {
      std::string_view part = trimmed(take_part(rest, ", "));  // of "1,234.5" nothing
      if (part.ends_with('%')) part.remove_suffix(1);
      const auto pair = named_real(part, ':');
      if (!pair || to.size() >= kMostLinePoints) continue;
      std::string name = lowered(pair->name);
      std::ranges::replace(name, ' ', '_');
      if (is_metric_name(name)) to.push_back({std::move(name), step, pair->value});
    }
    return to.size() > before;
  }

  // " *   Acc@1 71.2 Acc@5 90.1" at the end of a validation.
  bool totals(std::string_view line, std::vector<LinePoint>& to) {
    StringPiece rest = piece(line), name, number;
    while (to.size() < kMostLinePoints && RE2::FindAndConsume(&rest, e_.total, &name, &number))
      add(to, "test/" + lowered(view(name)), epoch_end_, number);
    return true;
  }

  int64_t samples_ = 0, epoch_end_ = 0, tests_ = 0, batches_ = 0, from_zero_ = 0;
  const TorchWords& e_ = shared<TorchWords>();
};

struct EpochsWords {
  const RE2 mindspore{R"(epoch: *(\d{1,9}),? step: *(\d{1,9}), loss is )" HEARTH_REAL};
  const RE2 flax{R"(epoch: *(\d{1,9}), (\w.*)$)"};
  const RE2 theano{R"(epoch (\d{1,9}), minibatch (\d{1,9})/(\d{1,9}), (validation|test) error)"
                   "(?: of best model)? " HEARTH_REAL " %"};
};

class Epochs : public LineFamily {
 public:
  bool read(std::string_view line, std::vector<LinePoint>& to) override {
    if (has(line, "epoch:")) return mindspore(line, to) || flax(line, to);
    return has(line, "minibatch ") && theano(line, to);
  }

 private:
  bool mindspore(std::string_view line, std::vector<LinePoint>& to) {
    int64_t epoch = 0, batch = 0;
    StringPiece loss;
    if (!RE2::PartialMatch(piece(line), e_.mindspore, &epoch, &batch, &loss)) return false;
    add(to, "loss", count_.at(epoch, batch), loss);
    return true;
  }

  bool flax(std::string_view line, std::vector<LinePoint>& to) {
    int64_t epoch = 0;
    StringPiece tail;
    if (!RE2::PartialMatch(piece(line), e_.flax, &epoch, &tail)) return false;
    const size_t before = to.size();
    std::string_view rest = view(tail);
    while (!rest.empty())
      if (const auto pair = named_real(take_part(rest, ", "), ':'))
        if (is_metric_name(pair->name) && to.size() < kMostLinePoints)
          to.push_back({std::string(pair->name), epoch, pair->value});
    return to.size() > before;
  }

  bool theano(std::string_view line, std::vector<LinePoint>& to) {
    int64_t epoch = 0, batch = 0, all = 0;
    StringPiece set, error;
    if (!RE2::PartialMatch(piece(line), e_.theano, &epoch, &batch, &all, &set, &error))
      return false;
    add(to, std::string(view(set)) + "/error", std::max<int64_t>(epoch - 1, 0) * all + batch,
        error);
    return true;
  }

  BatchCount count_;
  const EpochsWords& e_ = shared<EpochsWords>();
};

}  // namespace

std::unique_ptr<LineFamily> caffe_lines() {
  return std::make_unique<Caffe>();
}
std::unique_ptr<LineFamily> mxnet_lines() {
  return std::make_unique<Mxnet>();
}
std::unique_ptr<LineFamily> cntk_lines() {
  return std::make_unique<Cntk>();
}
std::unique_ptr<LineFamily> torch_lines() {
  return std::make_unique<Torch>();
}
std::unique_ptr<LineFamily> epoch_lines() {
  return std::make_unique<Epochs>();
}

}  // namespace hearth::track
