// What the shims of earlier versions of the protocol said, replayed: each file of testdata/ is a
// conversation that tests/upgrade/record wrote down (its head says what the words mean).
#include <cmath>

#include "base/units.h"
#include "control/ingest/ingest_world_test.h"
#include "control/ingest/metric_store.h"
#include "domain/model.h"
#include "domain/wire/task_spec.h"
#include "os/files.h"

namespace hearth::control {
namespace {

struct Said {
  std::string_view word, text;
};

std::vector<Said> lines_of(std::string_view text) {
  std::vector<Said> all;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const size_t space = line.find(' ');
    all.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return all;
}

class RecordedTest : public IngestTest {
 protected:
  void begin_task(std::string_view order) {
    const TaskSpec spec = need(from_json<TaskSpec>(order));
    need(check_order_protocol(spec.protocol, kShimProtocols));
    EXPECT_FALSE(spec.command.text.empty());
    if (tasks.empty()) first_order = spec;
    world.write([&](db::Session& session) -> Result<void> {
      auto attempt = TRY(db::Table<Attempt>::need(session, attempt_id));
      attempt.epoch = spec.epoch;
      return db::Table<Attempt>::update(session, attempt);
    });
    task_id = add_task(static_cast<int64_t>(tasks.size()) + 1);
    tasks.push_back(task_id);
  }
  // A request as it came, and the answer that the server of then gave.
  void replay(std::string_view head_text, const std::string& frames, std::string_view answered) {
    const SyncHead head = need(from_json<SyncHead>(head_text));
    const SyncAnswer then = need(from_json<SyncAnswer>(answered));
    answers.push_back(then);
    const bool empty = head.states.empty() && head.records.empty() && frames.empty();
    const auto now =
        empty ? ingest->newest(shim(), task_id, head) : ingest->sync(shim(), task_id, head, frames);
    if (empty) return;  // an order to stop or a live value, which nobody gives here
    ASSERT_TRUE(now.ok()) << now.error().text();
    EXPECT_EQ(now->acknowledged, then.acknowledged);
    EXPECT_TRUE(now->refused.empty()) << now->refused.front().text;
    EXPECT_EQ(now->protocol, head.protocol);
  }
  void replay_all(const std::string& name) {
    const std::string text = need(os::read_file(
        std::string(HEARTH_SOURCE_DIR) + "/src/control/ingest/testdata/" + name, 1 << 20));
    std::string_view head;
    std::string frames;
    for (const Said& said : lines_of(text)) {
      if (said.word == "order") begin_task(said.text);
      if (said.word == "object") put(std::string(as_text(need(from_base64(said.text)))));
      if (said.word == "sync") head = said.text;
      if (said.word == "frames") frames = as_text(need(from_base64(said.text)));
      if (said.word == "answer") replay(head, std::exchange(frames, {}), said.text);
    }
  }
  bool any_answer(const std::function<bool(const SyncAnswer&)>& is) const {
    return std::ranges::any_of(answers, is);
  }
  template <typename T>
  std::vector<T> rows(const std::string& where) {
    std::vector<T> found;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      found = TRY(db::Table<T>::select(session, where, {}));
      return {};
    }));
    return found;
  }
  std::vector<track::Point> series(const std::string& key) {
    std::vector<track::Point> found;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      found = TRY(read_series(session, run.id, key));
      return {};
    }));
    return found;
  }

  std::vector<std::string> tasks;
  std::vector<SyncAnswer> answers;
  TaskSpec first_order;
};

TEST_F(RecordedTest, AShimOfVersionOneIsUnderstood) {
  replay_all("shim_protocol_1.txt");
  ASSERT_EQ(tasks.size(), 2u);
  // The first reported of everything and succeeded.
  task_id = tasks[0];
  EXPECT_EQ(task().state, TaskState::succeeded);
  EXPECT_EQ(task().exit_code, 0);
  std::vector<std::string> lines = all_lines();
  std::ranges::sort(lines);  // stdout and stderr come as they like
  EXPECT_EQ(lines, (std::vector<std::string>{"a warning", "bye", "hello", "not \xff text"}));
  const auto loss = series("loss");
  ASSERT_EQ(loss.size(), 2u);
  EXPECT_EQ(loss[0].value, 0.5);
  EXPECT_EQ(loss[1].value, 0.25);
  EXPECT_EQ(loss[1].step, 2);
  ASSERT_EQ(series("bad").size(), 1u);
  EXPECT_TRUE(std::isnan(series("bad")[0].value));
  EXPECT_EQ(the_run().params.at("epochs"), "2");
  EXPECT_FALSE(the_run().environment.empty());
  EXPECT_EQ(events_of("run.live_applied"), 1);
  const auto checkpoints = rows<Checkpoint>("");
  ASSERT_EQ(checkpoints.size(), 1u);
  EXPECT_EQ(checkpoints[0].step, 1);
  ASSERT_EQ(rows<Artifact>("").size(), 1u);
  EXPECT_EQ(rows<Artifact>("")[0].kind, "table");
  ASSERT_EQ(rows<ModelVersion>("").size(), 1u);
  EXPECT_EQ(rows<ModelVersion>("")[0].model, "tiny");
  // The second was told to end.
  task_id = tasks[1];
  EXPECT_EQ(task().state, TaskState::failed);
  ASSERT_TRUE(task().failure.has_value());
  EXPECT_EQ(task().failure->failure_class, FailureClass::cancelled);
  EXPECT_EQ(all_lines(), std::vector<std::string>{"ready"});
}

TEST_F(RecordedTest, AnOrderAndAnswersOfVersionOneAreUnderstood) {
  replay_all("shim_protocol_1.txt");
  EXPECT_EQ(first_order.command.text, "exec python3 train.py");
  EXPECT_EQ(first_order.params.at("lr").value.text, "0.1");
  EXPECT_EQ(first_order.outputs.models.at(0).name, "tiny");
  EXPECT_TRUE(is_digest(first_order.code_digest));
  EXPECT_TRUE(any_answer([](const SyncAnswer& answer) {
    return answer.live_version > 0 && answer.live.contains("lr") &&
           answer.live.at("lr").value.text == "0.5";
  }));
  EXPECT_TRUE(any_answer([](const SyncAnswer& answer) {
    return answer.stop && answer.stop_class == "cancelled" && answer.grace_seconds > 0;
  }));
}

}  // namespace
}  // namespace hearth::control
