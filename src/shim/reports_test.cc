// What a task reports and what is saved of it.
#include "shim/fixture_test.h"

namespace hearth::shim {
namespace {

TEST_F(Shim, OutputsAreSaved) {
  spec_.outputs.artifacts = {"plots/**"};
  spec_.outputs.models.push_back({"out/model.pt", "net"});
  EXPECT_EQ(run("mkdir -p plots out; echo a > plots/a.txt; echo b > plots/b.txt; echo m > "
                "out/model.pt"),
            kShimDone);
  ASSERT_EQ(fake_.records("artifact").size(), 2u);
  EXPECT_EQ(fake_.records("artifact")[0].path, "plots/a.txt");
  EXPECT_EQ(fake_.object(fake_.records("artifact")[0].digest), "a\n");
  ASSERT_EQ(fake_.records("model").size(), 1u);
  EXPECT_EQ(fake_.records("model")[0].name, "net");
}

// A stand-in for the SDK, by its protocol.
const char* const kClient = R"PY(
import json, os, socket
def connect(session, first):
    s = socket.socket(socket.AF_UNIX)
    folder = os.open(os.path.dirname(os.environ["HEARTH_SOCKET"]), os.O_RDONLY)
    s.connect("/proc/self/fd/%d/sdk.sock" % folder)
    say(s, t="hello", v=1, pid=1, rank=0, session=session, next=first)
    return s
def say(s, **record):
    s.sendall((json.dumps(record) + "\n").encode())
def flush(s, n):
    say(s, t="flush", id=n)
    line = b""
    while not line.endswith(b"\n"):
        line += s.recv(1)
    assert json.loads(line) == {"t":"flushed","id":n}, line
)PY";

TEST_F(Shim, TakesReportsOnceAndInOrder) {
  const std::string script = std::string(kClient) + R"PY(
s = connect("aa", 0)
for i in range(50):
    say(s, t="metric", step=i, time_us=1000+i, values={"loss": i, "odd": "NaN"})
flush(s, 1)
s.close()
s = connect("aa", 40)            # again from 40, as after a broken connection
for i in range(40, 60):
    say(s, t="metric", step=i, time_us=1000+i, values={"loss": i})
s.sendall(b"this is no json\n")
say(s, t="of a later version", x=1)
if os.fork() == 0:
    c = connect("bb", 0)
    say(c, t="params", values={"epochs": 3, "name": "x"})
    flush(c, 1)
    os._exit(0)
os.wait()
say(s, t="live_applied", name="lr", value=0.5, version=2, step=7)
s.sendall(b'{"t":"metric","step":99,"values":{"torn')
)PY";
  ASSERT_TRUE(os::write_file_atomic(dir_ / "client.py", script).ok());
  EXPECT_EQ(run("python3 " + (dir_ / "client.py")), kShimDone) << fake_.log(track::Stream::err);
  const auto metrics = fake_.records("metric");
  ASSERT_EQ(metrics.size(), 60u);
  for (size_t i = 0; i < metrics.size(); ++i) EXPECT_EQ(metrics[i].step, static_cast<int64_t>(i));
  EXPECT_EQ(fake_.records("params").at(0).texts.at("epochs"), "3");
  EXPECT_EQ(fake_.records("live").at(0).version, 2);
  EXPECT_NE(fake_.log(track::Stream::hearth).find("not understood"), std::string::npos);
}

TEST_F(Shim, CheckpointsOfTheSdkExistOnceTheyAreSent) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 1};
  const std::string script = std::string(kClient) + R"PY(
s = connect("aa", 0)
for step in (1, 2):
    d = os.environ["HEARTH_CHECKPOINT_DIR"] + "/step-%010d" % step
    os.mkdir(d)
    open(d + "/model.pt", "w").write("weights %d" % step)
    say(s, t="checkpoint", step=step, path=d)
say(s, t="model", path=d + "/model.pt", name=None)
say(s, t="model", path=d + "/model.pt", name="Bad Name!")
flush(s, 1)
)PY";
  ASSERT_TRUE(os::write_file_atomic(dir_ / "client.py", script).ok());
  EXPECT_EQ(run("python3 " + (dir_ / "client.py")), kShimDone) << fake_.log(track::Stream::err);
  const auto checkpoints = fake_.records("checkpoint");
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[1].step, 2);
  const auto manifest = from_json<Manifest>(fake_.object(checkpoints[1].digest));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->files.at(0).path, "step-0000000002/model.pt");
  EXPECT_EQ(fake_.object(manifest->files[0].digest), "weights 2");
  ASSERT_EQ(fake_.records("model").size(), 1u);
  EXPECT_EQ(fake_.records("model").at(0).name, "job");
  EXPECT_NE(fake_.log(track::Stream::hearth).find("'Bad Name!' is no name of a model"),
            std::string::npos)
      << fake_.log(track::Stream::hearth);
}

TEST_F(Shim, GoesOnFromACheckpoint) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 3};
  Manifest manifest;
  manifest.files.push_back({"step-0000000005/model.pt", fake_.put("five"), 4});
  spec_.resume_manifest_digest = fake_.put(to_json(manifest));
  EXPECT_EQ(run("cat $HEARTH_RESUME_FROM/model.pt; echo; cat ckpt/step-0000000005/model.pt"),
            kShimDone);
  EXPECT_EQ(fake_.log(), "five\nfive\n");
}

TEST_F(Shim, CheckpointsOfOtherCodeAreFound) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 3};
  EXPECT_EQ(run("mkdir ckpt/checkpoint-500; echo w > ckpt/checkpoint-500/model.bin; echo i > "
                "ckpt/net-7.index; echo d > ckpt/net-7.data"),
            kShimDone);
  const auto checkpoints = fake_.records("checkpoint");
  ASSERT_EQ(checkpoints.size(), 2u);
  std::map<int64_t, size_t> files;
  for (const TaskRecord& checkpoint : checkpoints)
    files[*checkpoint.step] = from_json<Manifest>(fake_.object(checkpoint.digest))->files.size();
  EXPECT_EQ(files, (std::map<int64_t, size_t>{{7, 2}, {500, 1}}));
}

TEST_F(Shim, TheSdkItselfIsUnderstood) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 3};
  spec_.params["epochs"] = Param{AnyJson{"2"}};
  ASSERT_TRUE(os::write_file_atomic(dir_ / "train.py", R"PY(
import os
import hearth
p = hearth.params(epochs=1, extra="x")
assert p.epochs == 2, p.epochs
for epoch in range(p.epochs):
    lr = hearth.live("lr", 0.01, step=epoch)
    hearth.log(step=epoch, loss=1.0 / (epoch + 1), lr=lr)
    with hearth.checkpoint(step=epoch) as d:
        (d / "model.txt").write_text("epoch %d" % epoch)
hearth.log_table("confusion", [[1, 2], [3, 4]])
if os.fork() == 0:
    hearth.log(step=100, child=1)
    raise SystemExit
os.wait()
)PY")
                  .ok());
  EXPECT_EQ(run("python3 " + (dir_ / "train.py"), {"--sdk", HEARTH_PYTHON}), kShimDone);
  EXPECT_EQ(last().state, TaskState::succeeded) << fake_.log(track::Stream::err);
  EXPECT_EQ(fake_.records("metric").size(), 3u);
  EXPECT_EQ(fake_.records("checkpoint").size(), 2u);
  EXPECT_EQ(fake_.records("params").at(0).texts.at("extra"), "x");
  ASSERT_EQ(fake_.records("artifact").size(), 1u);
  EXPECT_EQ(fake_.records("artifact")[0].kind_of_artifact, "table");
  EXPECT_EQ(fake_.log(track::Stream::hearth), "");
}

}  // namespace
}  // namespace hearth::shim
