#include "track/line_splitter.h"

#include <gtest/gtest.h>

namespace hearth::track {
namespace {

using namespace std::string_literals;

struct Out {
  std::string bytes;
  uint8_t flags = 0;
  bool operator==(const Out&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Out& line) {
  return out << '"' << line.bytes << "\" flags " << int{line.flags};
}

// Feeds text at times that the test moves.
class Splitting {
 public:
  Splitting& feed(std::string_view bytes) { return splitter.feed(bytes, now, emit), *this; }
  Splitting& wait(int64_t ms) { return now.micros += ms * 1000, *this; }
  Splitting& tick() { return splitter.tick(now, emit), *this; }
  std::vector<Out> finish() {
    splitter.finish(now, emit);
    EXPECT_TRUE(splitter.idle());
    return std::exchange(lines, {});
  }
  LineSplitter splitter;
  Time now{1'700'000'000'000'000};
  std::vector<Out> lines;
  LineSplitter::Emit emit = [this](const SplitLine& line) {
    EXPECT_LE(line.bytes.size(), kMostRecordBytes);
    lines.push_back({std::string(line.bytes), line.flags});
  };
};

std::vector<Out> split_all(std::string_view bytes) {
  return Splitting().feed(bytes).finish();
}

// The same bytes one by one give the same lines.
std::vector<Out> split_bytewise(std::string_view bytes) {
  Splitting s;
  for (const char c : bytes) s.feed({&c, 1});
  return s.finish();
}

std::vector<Out> plain(std::initializer_list<const char*> lines) {
  std::vector<Out> out;
  for (const char* line : lines) out.push_back({line, 0});
  return out;
}

TEST(LineSplitter, LinesOfFrameworksComeAsTheyAre) {
  const std::vector<Out> lines = plain({
      "I1120 05:37:58.272187  4332 solver.cpp:218] Iteration 100 (1250 iter/s, 0.08s/100 iters), "
      "loss = 0.570934",
      "INFO:root:Epoch[1] Batch [300-600]\tSpeed: 45360.68 samples/sec\taccuracy=0.864167",
      "100/100 - 0s - 4ms/step - accuracy: 0.8780 - loss: 0.3378 - val_accuracy: 0.8536",
      "[9]\ttrain-mlogloss:0.41594\tvalidation-merror:0.16340",
      "[10]\ttraining's multi_logloss: 0.544848\tvalid_1's multi_error: 0.1502",
      "step 900/938 - loss: 0.2957 - acc: 0.8639 - 2ms/step",
      " Minibatch[ 601- 900]: loss = 0.810874 * 19200, metric = 25.62% * 19200;",
      "Train Epoch: 1 [19200/60000 (32%)]\tLoss: 0.692126",
      "{'loss': 0.6222, 'grad_norm': 1.431056022644043, 'learning_rate': 0.0005, 'epoch': 1.0}",
      "epoch 2, minibatch 937/937, validation error 16.350000 %",
      "",
      "epoch: 1 step: 300, loss is 0.5094873905181885",
      "Genauigkeit: 81 % (\xc3\xbc)",
  });
  std::string text;
  for (const Out& line : lines) text += line.bytes + "\n";
  EXPECT_EQ(split_all(text), lines);
  EXPECT_EQ(split_bytewise(text), lines);
}

std::string keras_state(int k, bool last = false) {
  const std::string bar = "\x1b[32m\xe2\x94\x81\xe2\x94\x81\x1b[0m\x1b[37m\xe2\x94\x81\x1b[0m";
  std::string text = "\r\x1b[1m" + std::to_string(k) + "/938\x1b[0m " + bar +
                     " \x1b[1m0s\x1b[0m 1ms/step - accuracy: 0.8211 - loss: 0.5167";
  if (last) return text + " - val_accuracy: 0.8536 - val_loss: 0.4029\n";
  return text + std::string(80, '\b');
}
std::string keras_line(int k, bool last = false) {
  std::string text = std::to_string(k) +
                     "/938 \xe2\x94\x81\xe2\x94\x81\xe2\x94\x81 0s 1ms/step - accuracy: 0.8211 - "
                     "loss: 0.5167";
  return last ? text + " - val_accuracy: 0.8536 - val_loss: 0.4029" : text;
}

TEST(LineSplitter, KerasBarBecomesOneStatePerSecondAndTheLast) {
  for (const bool bytewise : {false, true}) {
    Splitting s;
    const auto feed = [&](const std::string& text) {
      if (!bytewise) s.feed(text);
      for (size_t i = 0; bytewise && i < text.size(); ++i) s.feed(text.substr(i, 1));
    };
    feed("Epoch 1/2\n");
    for (int k = 1; k < 938; ++k) {
      feed(keras_state(k));
      s.wait(4);  // 250 states a second
    }
    feed(keras_state(938, true));
    feed("Epoch 2/2\n");
    const std::vector<Out> lines = s.finish();
    ASSERT_EQ(lines.size(), 7u) << bytewise;
    EXPECT_EQ(lines[0], (Out{"Epoch 1/2", 0}));
    EXPECT_EQ(lines[1], (Out{keras_line(1), kFolded}));
    EXPECT_EQ(lines[2].flags, kFolded);
    EXPECT_EQ(lines[4].flags, kFolded);
    EXPECT_EQ(lines[5], (Out{keras_line(938, true), kFolded}));
    EXPECT_EQ(lines[6], (Out{"Epoch 2/2", 0}));
  }
}

TEST(LineSplitter, PaddleBar) {
  std::string text = "Epoch 2/2\n";
  for (int step = 100; step < 938; step += 100)
    text += "\rstep " + std::to_string(step) +
            "/938 [========>.....................] - loss: 0.5386 - acc: 0.7709 - ETA: 2s - "
            "4ms/step" +
            std::string(90, '\b');
  text +=
      "\rstep 938/938 [==============================] - loss: 0.2957 - acc: 0.8639 - 2ms/step\n";
  const std::vector<Out> wanted = {
      {"Epoch 2/2", 0},
      {"step 100/938 [========>.....................] - loss: 0.5386 - acc: 0.7709 - ETA: 2s - "
       "4ms/step",
       kFolded},
      {"step 938/938 [==============================] - loss: 0.2957 - acc: 0.8639 - 2ms/step",
       kFolded}};
  EXPECT_EQ(split_all(text), wanted);
  EXPECT_EQ(split_bytewise(text), wanted);
}

TEST(LineSplitter, ChainerRowLosesTheEraseSequence) {
  EXPECT_EQ(split_all("\x1b[J1           0.532605    0.45354\n"),
            plain({"1           0.532605    0.45354"}));
}

TEST(LineSplitter, ColoursOfOrdinaryLinesStay) {
  const std::string text = "\x1b[1;32mPASS\x1b[0m test\x1b[K \x1b[2Cdone";
  EXPECT_EQ(split_all(text + "\n"), plain({"\x1b[1;32mPASS\x1b[0m test done"}));
  // ... also behind a bar, whose own states lose them.
  const std::vector<Out> wanted = {{"50% it/s", kFolded}, {"\x1b[31mwarning\x1b[0m", 0}};
  EXPECT_EQ(split_all("\r\x1b[32m50%\x1b[0m it/s\r        \r\x1b[31mwarning\x1b[0m\n"), wanted);
}

TEST(LineSplitter, LastStateOfABarIsNeverLost) {
  const std::vector<Out> wanted = {
      {"step 1 loss 0.9", kFolded}, {"step 3 loss 0.1", kFolded}, {"Finished training", 0}};
  const std::string states = "step 1 loss 0.9\rstep 2 loss 0.5\rstep 3 loss 0.1\r";
  EXPECT_EQ(split_all(states + "Finished training\n"), wanted);
  EXPECT_EQ(split_all(states + "\nFinished training\n"), wanted);
  EXPECT_EQ(split_all(states), (std::vector<Out>{wanted[0], wanted[1]}));
  // The bar's own last state ends with LF and is not told twice.
  EXPECT_EQ(split_all("\rstep 1 loss 0.9\rstep 1 loss 0.9\n"), (std::vector<Out>{wanted[0]}));
  // Nothing follows: time alone brings it out.
  Splitting s;
  s.feed(states + "x").feed("\r").wait(1200).tick();
  EXPECT_EQ(s.lines.size(), 3u);
  EXPECT_EQ(s.lines[1], wanted[1]);
}

TEST(LineSplitter, TwoBarsThatAlternateAreBothKept) {
  const auto lines = split_all("\rtrain 10%\rvalid 3%\rtrain 20%\rvalid 6%\n");
  EXPECT_EQ(
      lines,
      (std::vector<Out>{
          {"train 10%", kFolded}, {"valid 3%", kFolded}, {"train 20%", kFolded}, {"valid 6%", 0}}));
}

TEST(LineSplitter, WindowsLineEnds) {
  EXPECT_EQ(split_all("one\r\ntwo\r\r\n\r\nthree\r\n"), plain({"one", "two", "", "three"}));
  EXPECT_EQ(split_bytewise("one\r\ntwo\r\r\n\r\nthree\r\n"), plain({"one", "two", "", "three"}));
}

TEST(LineSplitter, BinaryIsUntouched) {
  std::string bytes;
  SeededRandom random(1);
  for (int i = 0; i < 300'000; ++i) {
    bytes += static_cast<char>(random.below(256));
    if (i % 977 == 0) bytes += "text between\rwith \b and \x1b[2K in it";
  }
  bytes.insert(0, "\x89PNG\r\n\x1a\n\0\0"s);
  Splitting s;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = 1 + random.below(5000);
    s.feed(std::string_view(bytes).substr(at, n));
    at += n;
  }
  bool binary = false;
  std::string back;
  for (const Out& line : s.finish()) {
    binary = binary || line.flags & kBinary;
    back += line.bytes + (line.flags & kPartial ? "" : "\n");
  }
  EXPECT_TRUE(binary);
  if (!bytes.ends_with('\n')) back.pop_back();
  EXPECT_TRUE(back == bytes);
}

TEST(LineSplitter, FoldingComesBackAfterStrayBinary) {
  Splitting s;
  s.feed("\0\n"s);
  s.feed("1%\r2%\r3%\n");  // too near to it
  for (size_t i = 0; i < kCalmBytes; i += 8) s.feed("ordinary\n");
  s.feed("1%\r2%\r3%\n");
  const auto lines = s.finish();
  EXPECT_EQ(lines[0], (Out{"\0"s, kBinary}));
  EXPECT_EQ(lines[1], (Out{"1%\r2%\r3%", 0}));
  EXPECT_EQ(lines[lines.size() - 2], (Out{"1%", kFolded}));
  EXPECT_EQ(lines.back(), (Out{"3%", kFolded}));
}

std::string joined(const std::vector<Out>& lines) {
  std::string text;
  for (const Out& line : lines) text += line.bytes + (line.flags & kPartial ? "" : "\n");
  return text;
}

TEST(LineSplitter, LongLinesComeInPartsAndNoCharacterIsTorn) {
  std::string text;
  while (text.size() < (1 << 20))
    text +=
        "na\xc3\xaf"
        "ve \xe2\x82\xac \x1b[31mred\x1b[0m ";
  text += "\n";
  Splitting s;
  for (size_t at = 0; at < text.size(); at += 10'000)
    s.feed(std::string_view(text).substr(at, 10'000));
  const auto lines = s.finish();
  EXPECT_GT(lines.size(), 15u);
  for (const Out& line : lines) {
    EXPECT_TRUE(is_utf8(line.bytes));
    EXPECT_FALSE(line.flags & kBinary);
  }
  EXPECT_TRUE(joined(lines) == text);
  EXPECT_TRUE(joined(split_all(text)) == text);
  EXPECT_TRUE(joined(split_all(std::string(1 << 20, '\0'))) == std::string(1 << 20, '\0') + "\n");
}

TEST(LineSplitter, PromptIsShownAndItsLineEndedLater) {
  Splitting s;
  s.feed("Overwrite? \xe2\x82").wait(500).tick();
  EXPECT_TRUE(s.lines.empty());
  s.wait(600).tick();
  ASSERT_EQ(s.lines, (std::vector<Out>{{"Overwrite? ", kPartial}}));
  s.feed("\xac yes\nnext\n");
  EXPECT_EQ(s.finish(),
            (std::vector<Out>{{"Overwrite? ", kPartial}, {"\xe2\x82\xac yes", 0}, {"next", 0}}));
  s.feed("no end").wait(1000).tick();
  EXPECT_EQ(s.finish(), (std::vector<Out>{{"no end", kPartial}, {"", 0}}));
}

TEST(LineSplitter, SlowBarsAreSeenAtOnceAndOnce) {
  // The bar of `print("\r...", end="")`, every three seconds.
  Splitting s;
  for (int i = 1; i <= 3; ++i)
    s.feed("\r" + std::to_string(i) + "0% done").wait(1000).tick().wait(2000).tick();
  s.feed("\nbye\n");
  EXPECT_EQ(s.finish(),
            (std::vector<Out>{
                {"10% done", kFolded}, {"20% done", kFolded}, {"30% done", kFolded}, {"bye", 0}}));
  // `print("...", end="\r")`.
  for (int i = 1; i <= 3; ++i)
    s.feed(std::to_string(i) + "0% done\r").wait(1000).tick().wait(2000).tick();
  s.feed("bye\n");
  EXPECT_EQ(s.finish(),
            (std::vector<Out>{
                {"10% done", kFolded}, {"20% done", kFolded}, {"30% done", kFolded}, {"bye", 0}}));
  // Its first state has no CR before it: shown as a part, then closed.
  s.feed("10% done").wait(1000).tick().feed("\r20% done").wait(3000).tick();
  EXPECT_EQ(s.finish(), (std::vector<Out>{{"10% done", kPartial}, {"", 0}, {"20% done", kFolded}}));
}

TEST(LineSplitter, SixtyThousandStatesAreFew) {
  Splitting s;
  for (int i = 0; i < 60'000; ++i) {
    s.feed("\r" + std::to_string(i / 600) + "%|###   | [00:10<00:20, 99.1it/s]");
    s.now.micros += 100;
  }
  const size_t lines = s.finish().size();
  EXPECT_LE(lines, 7u);
  EXPECT_GE(lines, 6u);
}

}  // namespace
}  // namespace hearth::track
