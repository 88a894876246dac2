// The lines are those that the programs printed.
#include "track/line_metrics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/format.h"

namespace hearth::track {
namespace {

// "key@step=value" of all lines.
std::vector<std::string> read_all(const std::vector<std::string>& lines,
                                  const std::vector<std::string>& own = {}) {
  auto metrics = LineMetrics::make(own);
  EXPECT_TRUE(metrics.ok());
  std::vector<std::string> found;
  for (const std::string& line : lines)
    for (const LinePoint& point : metrics->read(line))
      found.push_back(format("{}@{}={}", point.key, point.step, point.value));
  return found;
}
using Points = std::vector<std::string>;

TEST(LineMetrics, Caffe) {
  const std::string head = "I1120 05:37:58.272187  4332 solver.cpp:";
  EXPECT_EQ(read_all({head + "218] Iteration 100 (1250 iter/s, 0.08s/100 iters), loss = 0.570934",
                      head + "237]     Train net output #0: loss = 0.570934 (* 1 = 0.570934 loss)",
                      "I1120 05:37:58.272  4332 sgd_solver.cpp:105] Iteration 100, lr = 0.01",
                      head + "330] Iteration 1500, Testing net (#0)",
                      head + "397]     Test net output #0: accuracy = 0.8201",
                      head + "397]     Test net output #1: loss = 0.51 (* 1 = 0.51 loss)",
                      head + "218] Iteration 1600 (1250 iter/s, 0.08s/100 iters), loss = 1.5e-05"}),
            (Points{"loss@100=0.570934", "train/loss@100=0.570934", "lr@100=0.01",
                    "test/accuracy@1500=0.8201", "test/loss@1500=0.51", "loss@1600=1.5e-05"}));
}

TEST(LineMetrics, MxnetCountsBatchesOverEpochs) {
  EXPECT_EQ(
      read_all({"INFO:root:Epoch[0] Batch [0-300]\tSpeed: 44000.10 samples/sec\taccuracy=0.7",
                "INFO:root:Epoch[0] Batch [300-600]\tSpeed: 44000.20 samples/sec\taccuracy=0.75",
                "INFO:root:Epoch[0] Train-accuracy=0.760000", "INFO:root:Epoch[0] Time cost=1.350",
                "INFO:root:Epoch[0] Validation-accuracy=0.840000",
                "INFO:root:Epoch[1] Batch [0-300]\tSpeed: 45360.68 samples/sec\taccuracy=0.864167",
                "INFO:root:Epoch[1] Validation-accuracy=0.852408"}),
      (Points{"samples_per_second@300=44000.1", "accuracy@300=0.7",
              "samples_per_second@600=44000.2", "accuracy@600=0.75", "train/accuracy@600=0.76",
              "validation/accuracy@600=0.84", "samples_per_second@900=45360.68",
              "accuracy@900=0.864167", "validation/accuracy@900=0.852408"}));
  EXPECT_EQ(read_all({"INFO:root:Epoch[2] Validation-accuracy=0.5"}),
            (Points{"validation/accuracy@2=0.5"}));
}

TEST(LineMetrics, KerasVerboseOneWithColoursAndBackspaces) {
  const std::string bar =
      "\x1b[1m904/938\x1b[0m \x1b[32m\xe2\x94\x81\xe2\x94\x81\x1b[0m\x1b[37m\xe2\x94\x81\x1b[0m "
      "\x1b[1m0s\x1b[0m 1ms/step - accuracy: 0.8211 - loss: 0.5167\b\b\b\b\b";
  EXPECT_EQ(
      read_all({"Epoch 1/2", bar,
                "938/938 \xe2\x94\x81 2s 2ms/step - accuracy: 0.8300 - loss: 0.5000",
                "938/938 \xe2\x94\x81 2s 2ms/step - accuracy: 0.8300 - loss: 0.5000 - "
                "val_accuracy: 0.8500 - val_loss: 0.4200",
                "Epoch 2/2", "100/938 \xe2\x94\x81 0s 1ms/step - accuracy: 0.9 - loss: 0.4"}),
      (Points{"accuracy@904=0.8211", "loss@904=0.5167", "accuracy@938=0.83", "loss@938=0.5",
              "val_accuracy@938=0.85", "val_loss@938=0.42", "accuracy@1038=0.9", "loss@1038=0.4"}));
}

TEST(LineMetrics, KerasVerboseTwoAndEvaluate) {
  EXPECT_EQ(
      read_all(
          {"Epoch 1/2",
           "100/100 - 0s - 4ms/step - accuracy: 0.8780 - loss: 0.3378 - val_accuracy: 0.8536 - "
           "val_loss: 0.4029",
           "Epoch 2/2", "100/100 - 0s - 4ms/step - accuracy: 0.9 - loss: 0.3",
           "150/313 - 0s - 1ms/step - accuracy: 0.1 - loss: 9.0",
           "313/313 - 0s - 1ms/step - accuracy: 0.8600 - loss: 0.3900"}),
      (Points{"accuracy@100=0.878", "loss@100=0.3378", "val_accuracy@100=0.8536",
              "val_loss@100=0.4029", "accuracy@200=0.9", "loss@200=0.3", "eval/accuracy@200=0.86",
              "eval/loss@200=0.39"}));
}

TEST(LineMetrics, Paddle) {
  EXPECT_EQ(
      read_all({"Epoch 2/2",
                "step 300/938 [========>.....................] - loss: 0.5386 - acc: 0.7709 - ETA: "
                "2s - 4ms/step",
                "step 900/938 - loss: 0.2957 - acc: 0.8639 - 2ms/step", "Eval begin...",
                "step 157/157 - loss: 0.3 - acc: 0.85 - 1ms/step", "Eval samples: 10000"}),
      (Points{"loss@1238=0.5386", "acc@1238=0.7709", "loss@1838=0.2957", "acc@1838=0.8639",
              "eval/loss@1838=0.3", "eval/acc@1838=0.85"}));
}

TEST(LineMetrics, XgboostAndLightgbm) {
  EXPECT_EQ(read_all({"[9]\ttrain-mlogloss:0.41594\ttrain-merror:0.1\tvalidation-merror:0.16340",
                      "[05:45:01] [0]\ttrain-logloss:0.44919", "[3]\ttrain-rmse:1.25+0.031",
                      "[10]\ttraining's multi_logloss: 0.544848\tvalid_1's multi_error: 0.1502",
                      "[LightGBM] [Info] Total Bins 4711", "[05:45:01] WARNING: x.cc:3: y"}),
            (Points{"train/mlogloss@9=0.41594", "train/merror@9=0.1", "validation/merror@9=0.1634",
                    "train/logloss@0=0.44919", "train/rmse@3=1.25",
                    "training/multi_logloss@10=0.544848", "valid_1/multi_error@10=0.1502"}));
}

TEST(LineMetrics, CntkGoesOnBehindAnEpoch) {
  EXPECT_EQ(
      read_all({" Minibatch[ 601- 900]: loss = 0.810874 * 19200, metric = 25.62% * 19200;",
                "Finished Epoch[1 of 2]: [Training] loss = 0.877388 * 59968, metric = 27.19% * "
                "59968 1.808s (33168.1 samples/s);",
                " Minibatch[   1- 300]: loss = 0.5 * 19200, metric = 20.00% * 19200;"}),
      (Points{"loss@900=0.810874", "metric@900=25.62", "training/loss@937=0.877388",
              "training/metric@937=27.19", "loss@1237=0.5", "metric@1237=20"}));
}

TEST(LineMetrics, PytorchExamples) {
  EXPECT_EQ(
      read_all({"Train Epoch: 1 [19200/60000 (32%)]\tLoss: 0.692126",
                "Test set: Average loss: 0.4149, Accuracy: 8490/10000 (85%)",
                "Train Epoch: 2 [640/60000 (1%)]\tLoss: 0.5",
                "Epoch: [1][  10/5005]\tTime  0.512 ( 1.2)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   1.56 ("
                "  0.30)",
                " *   Acc@1 71.2 Acc@5 90.1"}),
      (Points{"train/loss@19200=0.692126", "test/loss@60000=0.4149", "test/accuracy@60000=0.849",
              "train/loss@60640=0.5", "train/time@5015=0.512", "train/loss@5015=6.9",
              "train/acc@1@5015=1.56", "test/acc@1@10010=71.2", "test/acc@5@10010=90.1"}));
}

TEST(LineMetrics, PytorchTutorials) {
  EXPECT_EQ(
      read_all({"Epoch [1/5], Step [100/600], Loss: 0.2345",
                "Epoch [2/5], Step [600/600], Loss: 0.1, Accuracy: 91.5%",
                "Epoch [2/5], Val Loss: 0.2", "Epoch [3/5] done", "Epoch [x/5], Loss: 1"}),
      (Points{"loss@100=0.2345", "loss@1200=0.1", "accuracy@1200=91.5", "val_loss@1200=0.2"}));
  EXPECT_EQ(read_all({"Epoch: [3/20], Train Loss: 0.5, Train Acc: 88 %"}),
            (Points{"train_loss@3=0.5", "train_acc@3=88"}));
  EXPECT_EQ(read_all({"Epoch [0/5], Step [100/600], Loss: 2", "Epoch [0/5], Val Loss: 2",
                      "Epoch [1/5], Step [100/600], Loss: 1,234.5, Accuracy: 9"}),
            (Points{"loss@100=2", "val_loss@600=2", "accuracy@700=9"}));
}

TEST(LineMetrics, NumbersWithCommasAreLeftOut) {
  EXPECT_EQ(read_all({"step=4 loss=1,234.5 lr=0.1", "epoch=3 acc=99%", "step=5, loss=2,acc=3"}),
            (Points{"lr@4=0.1", "acc@3=99", "loss@5=2", "acc@5=3"}));
}

TEST(LineMetrics, HuggingFace) {
  EXPECT_EQ(read_all({"{'loss': 0.6222, 'grad_norm': 1.431056022644043, 'learning_rate': 0.0005, "
                      "'epoch': 1.0}",
                      "{'eval_loss': 0.5946990847587585, 'eval_runtime': 1.5, 'epoch': 1.0}",
                      "{'loss': '0.5', 'learning_rate': '1e-05', 'epoch': '1.5'}", "{'a': 1}"}),
            (Points{"loss@1=0.6222", "grad_norm@1=1.431056022644043", "learning_rate@1=0.0005",
                    "epoch@1=1", "eval_loss@1=0.5946990847587585", "eval_runtime@1=1.5",
                    "loss@2=0.5", "learning_rate@2=1e-05", "epoch@2=1.5"}));
}

TEST(LineMetrics, FlaxTheanoMindsporeScikitLearn) {
  EXPECT_EQ(read_all({"epoch:  1, train_loss: 0.5291, train_accuracy: 81.72, test_loss: 0.4459",
                      "epoch 2, minibatch 937/937, validation error 16.350000 %",
                      "     epoch 2, minibatch 937/937, test error of best model 17.5 %",
                      "epoch: 1 step: 300, loss is 0.5094873905181885",
                      "epoch: 2 step: 100, loss is 0.4", "Iteration 2, loss = 0.38296626"}),
            (Points{"train_loss@1=0.5291", "train_accuracy@1=81.72", "test_loss@1=0.4459",
                    "validation/error@1874=16.35", "test/error@1874=17.5",
                    "loss@300=0.5094873905181885", "loss@400=0.4", "loss@2=0.38296626"}));
}

TEST(LineMetrics, KeyValueNeedsAStepOrAKnownWord) {
  EXPECT_EQ(read_all({"step=100 loss=0.5 lr=1e-3 tokens=4096", "epoch=3, train_loss=0.4, x=2",
                      "loss=0.25 port=8080", "listening host=10.0.0.1 port=8080",
                      "val.loss=nan, took=12s"}),
            (Points{"loss@100=0.5", "lr@100=0.001", "tokens@100=4096", "train_loss@3=0.4", "x@3=2",
                    "loss@1=0.25", "val.loss@2=nan"}));
}

TEST(LineMetrics, TqdmSaysTheStep) {
  EXPECT_EQ(read_all({"Epoch 0:  50%|##### | 10/20 [00:05<00:05, 170.5it/s, v_num=0, loss=0.5]",
                      "Epoch 0: 100%|######| 20/20 [00:05<00:05, 170.5it/s, v_num=0, loss=0.4]",
                      "Epoch 1:  50%|##### | 10/20 [00:05<00:05, 170.5it/s, v_num=0, loss=0.3]"}),
            (Points{"loss@10=0.5", "loss@20=0.4", "loss@30=0.3"}));
}

TEST(LineMetrics, OwnPatternsComeFirst) {
  EXPECT_EQ(read_all({"at 12: reward 3.5 (loss=1)", "metric tok/s is 81.5", "loss=2"},
                     {R"(at (?P<step>\d+): reward (?P<reward>\S+))",
                      R"(metric (?P<name>\S+) is (?P<value>\S+))"}),
            (Points{"reward@12=3.5", "tok/s@12=81.5", "loss@1=2"}));
}

TEST(LineMetrics, OwnPatternsThatGiveNothingAreRefused) {
  for (const char* const pattern :
       {"", "loss (", R"(loss (\d+))", R"((?P<step>\d+))", R"((?P<name>\w+) is 1)"}) {
    const auto made = LineMetrics::make({pattern});
    ASSERT_FALSE(made.ok()) << pattern;
    EXPECT_EQ(made.error().code, Code::invalid);
  }
  EXPECT_FALSE(LineMetrics::make(std::vector<std::string>(kMostOwnPatterns + 1, "(?P<a>1)")).ok());
}

TEST(LineMetrics, WhatLooksAlikeIsNoMetric) {
  EXPECT_EQ(read_all({"Downloading 12/34 files", "2026-11-20 10:00:00 INFO started in 3s", "1/3",
                      "Epoch 1/10", "warning: epoch: soon", "[1, 2, 3]", "{'a': 1, 'epoch': x}",
                      "Iteration 5 begins", "", "\t", "=", "a=", "=1", std::string(5000, '1')}),
            Points{});
}

TEST(LineMetrics, BoundsTheNumberOfKeys) {
  auto metrics = LineMetrics::make();
  ASSERT_TRUE(metrics.ok());
  size_t points = 0;
  for (size_t i = 0; i < 2 * kMostLineKeys; ++i)
    points += metrics->read(format("step={} key{}=1", i, i)).size();
  EXPECT_EQ(points, kMostLineKeys);
}

}  // namespace
}  // namespace hearth::track
