#include "control/ingest/ingest_world_test.h"

namespace hearth::control {
namespace {

class LinesTest : public IngestTest {
 protected:
  LinesTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  void send(const std::vector<std::string>& lines, uint8_t flags = 0) {
    need(sync(head(), frame(lines, flags)));
  }
  // "line 1", "line 2" ... each as one record, so that a line's number is its seq.
  void send_numbered(int64_t from, int64_t to) {
    std::vector<std::string> lines;
    for (int64_t i = from; i <= to; ++i) lines.push_back(format("line {}", i));
    send(lines);
  }
  LogLines lines(LineQuery query) {
    query.task_id = task_id;
    return need(ingest->read_lines(query));
  }
  using IngestTest::texts;
  static std::vector<std::string> texts(const LogLines& lines) {
    std::vector<std::string> all;
    for (const LogLine& line : lines.lines) all.push_back(line.text);
    return all;
  }
  static void expect_numbered(const LogLines& lines, int64_t from, int64_t to) {
    ASSERT_EQ(lines.lines.size(), static_cast<size_t>(to - from + 1));
    for (const LogLine& line : lines.lines) {
      EXPECT_EQ(line.seq, from);
      EXPECT_EQ(line.text, format("line {}", from++));
    }
  }
};

TEST_F(LinesTest, WithoutLinesAllIsZero) {
  const LogLines none = lines({});
  EXPECT_EQ(none.first, 0);
  EXPECT_EQ(none.last, 0);
  EXPECT_TRUE(none.lines.empty());
  EXPECT_EQ(none.next_from, 1);
  EXPECT_FALSE(none.ended);
  EXPECT_TRUE(lines({.tail = 5}).lines.empty());
}

TEST_F(LinesTest, AnyNumberIsFoundInSegmentsAndInTheOpenFile) {
  send_numbered(1, 3000);
  need(ingest->seal(task_id));
  send_numbered(3001, 6000);
  need(ingest->seal(task_id));
  send_numbered(6001, 7000);
  for (const int64_t from : {1, 2, 1500, 2999, 3000, 3001, 5990, 6000, 6001, 6400}) {
    const LogLines page = lines({.from_seq = from, .most_lines = 50});
    expect_numbered(page, from, from + 49);
    EXPECT_EQ(page.next_from, from + 50);
    EXPECT_EQ(page.first, 1);
    EXPECT_EQ(page.last, 7000);
    EXPECT_FALSE(page.ended);
  }
  expect_numbered(lines({.from_seq = 6990}), 6990, 7000);
  EXPECT_TRUE(lines({.from_seq = 7001}).lines.empty());
  EXPECT_EQ(lines({.from_seq = 7001}).next_from, 7001);
  expect_numbered(lines({.tail = 10}), 6991, 7000);
  expect_numbered(lines({.tail = 5000}), 2001, 7000);
  need(sync_state(1, TaskState::succeeded));
  const LogLines page = lines({.from_seq = 1, .most_lines = 10});
  EXPECT_TRUE(page.ended) << "the log is whole, whatever part of it this is";
  EXPECT_EQ(page.last, 7000);
}

TEST_F(LinesTest, ALogWhoseBeginningIsGoneBeginsWhereItDoes) {
  send_numbered(1, 100);
  need(ingest->seal(task_id));
  send_numbered(101, 200);
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM log_segments WHERE task_id = $1", {task_id}));
    return {};
  });
  const LogLines page = lines({.from_seq = 1, .most_lines = 10});
  EXPECT_EQ(page.first, 101);
  expect_numbered(page, 101, 110);
  expect_numbered(lines({.tail = 1000}), 101, 200);
}

// A line of many records is one line wherever a page begins.
TEST_F(LinesTest, ALineOfManyRecordsIsGivenWholeAndOnce) {
  send_numbered(1, 10);
  const std::string wide(5 * track::kMostRecordBytes, 'x');
  send({wide});  // numbers 11 to 15
  send({"line 16", "line 17"});
  for (const bool sealed : {false, true}) {
    if (sealed) need(ingest->seal(task_id));
    for (const int64_t from : {11, 12, 13, 14, 15}) {
      const LogLines page = lines({.from_seq = from, .most_lines = 2});
      ASSERT_EQ(page.lines.size(), 2u);
      EXPECT_EQ(page.lines[0].seq, 15);
      EXPECT_EQ(page.lines[0].text, wide);
      EXPECT_EQ(page.lines[1].seq, 16);
      EXPECT_EQ(page.next_from, 17);
    }
    EXPECT_EQ(lines({.from_seq = 16}).lines.at(0).text, "line 16");
    EXPECT_EQ(lines({.tail = 3}).lines.at(0).text, wide);
    EXPECT_EQ(lines({.tail = 4}).lines.at(0).text, "line 10");
  }
}

TEST_F(LinesTest, ALineWithoutAnEndComesAgainUntilItHasOne) {
  send({"one"});
  send({"loading"}, track::kPartial);
  EXPECT_EQ(texts(lines({})), (std::vector<std::string>{"one"})) << "its end may be on its way";
  world.clock.advance(Duration::seconds(3));
  LogLines page = lines({});
  EXPECT_EQ(texts(page), (std::vector<std::string>{"one", "loading"}));
  EXPECT_TRUE(page.lines[1].partial);
  EXPECT_EQ(page.next_from, 2);
  send({" done", "two"});
  page = lines({.from_seq = page.next_from});
  EXPECT_EQ(texts(page), (std::vector<std::string>{"loading done", "two"}));
  EXPECT_EQ(page.lines[0].seq, 3);
  EXPECT_EQ(page.next_from, 5);
}

TEST_F(LinesTest, APageIsBoundedByLinesAndByBytes) {
  std::vector<std::string> wide(100, std::string(60'000, 'x'));
  send(wide);
  EXPECT_EQ(lines({.most_lines = 1'000'000}).lines.size(), kMostShownBytes / 60'000 + 1);
  const LogLines tail = lines({.tail = 90});
  EXPECT_EQ(tail.lines.size(), kMostShownBytes / 60'000);
  EXPECT_EQ(tail.lines.back().seq, 100) << "the last are those that are wanted";
  EXPECT_EQ(tail.next_from, 101);
}

TEST_F(LinesTest, ASearchThatTakesTooLongSaysHowFarItCame) {
  SeededRandom random(3);
  for (int64_t i = 0; i < 4; ++i) {  // of 3 MB each, so that they are not searched in one batch
    std::vector<std::string> noise(50, std::string(60'000, ' '));
    for (std::string& line : noise) random.fill(std::as_writable_bytes(std::span(line)));
    noise.push_back(format("needle {}", i));
    send(noise);
    need(ingest->seal(task_id));
  }
  LogQuery query{.task_id = task_id, .grep = "needle [0-9]$"};
  query.most_time = Duration::seconds(60);
  const LogPage all = need(ingest->read_log(query));
  EXPECT_EQ(texts(all), (std::vector<std::string>{"needle 0", "needle 1", "needle 2", "needle 3"}));
  EXPECT_EQ(all.next_seq, 204);
  query.most_time = Duration{0};
  std::vector<std::string> found;
  int calls = 0;
  for (; query.after_seq < 204 && calls < 10; ++calls) {
    const LogPage page = need(ingest->read_log(query));
    ASSERT_GT(page.next_seq, query.after_seq);
    for (const std::string& text : texts(page)) found.push_back(text);
    query.after_seq = page.next_seq;
  }
  EXPECT_EQ(found, texts(all)) << "each once";
  EXPECT_GT(calls, 1);
}

}  // namespace
}  // namespace hearth::control
