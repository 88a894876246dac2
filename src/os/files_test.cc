#include "os/files.h"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/format.h"
#include "os/process.h"

namespace hearth::os {
namespace {

class Files : public testing::Test {
 protected:
  TemporaryDirectory dir_ = std::move(TemporaryDirectory::make("hearth-files").value());
  std::string at(std::string_view name) const { return dir_ / name; }
  static std::string content(const std::string& path) {
    return read_file(path, 1 << 26).value_or("(not there)");
  }
};

// Records what happens and fails what it is told to.
class Watcher : public FileObserver {
 public:
  Watcher() { set_file_observer(this); }
  ~Watcher() override { set_file_observer(nullptr); }
  int fault(const FileEvent& event) override { return event.op == fail_op ? fail_with : 0; }
  void happened(const FileEvent& event) override {
    ops.push_back(format("{} {}", name_of(event.op), os::name_of(event.path)));
  }
  FileOp fail_op{};
  int fail_with = 0;
  std::vector<std::string> ops;
};

TEST_F(Files, ReadsWholeFilesWithinTheBound) {
  ASSERT_TRUE(append_file(at("a"), "12345", Sync::no).ok());
  EXPECT_EQ(*read_file(at("a"), 5), "12345");
  const auto over = read_file(at("a"), 4);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, Code::too_large);
  EXPECT_EQ(read_file(at("none"), 5).error().code, Code::not_found);
  // The kernel says size 0 there.
  EXPECT_GT(read_file("/proc/self/status", 1 << 20)->size(), 100u);
}

TEST_F(Files, AtomicWriteReplacesAndSyncsInOrder) {
  ASSERT_TRUE(write_file_atomic(at("a"), "old", 0600).ok());
  Watcher watcher;
  ASSERT_TRUE(write_file_atomic(at("a"), "new", 0640).ok());
  EXPECT_EQ(content(at("a")), "new");
  EXPECT_EQ(status(at("a"))->st_mode & 0777, 0640u);
  ASSERT_EQ(watcher.ops.size(), 5u);
  EXPECT_TRUE(watcher.ops[0].starts_with("create ."));
  EXPECT_TRUE(watcher.ops[1].starts_with("write ."));
  EXPECT_TRUE(watcher.ops[2].starts_with("sync ."));
  EXPECT_TRUE(watcher.ops[3].starts_with("rename ."));
  EXPECT_TRUE(watcher.ops[4].starts_with("sync_directory "));
  EXPECT_EQ(list_directory(dir_.path())->size(), 1u);
}

TEST_F(Files, AtomicWriteThatFailsLeavesTheOldBytesAndNoLitter) {
  ASSERT_TRUE(write_file_atomic(at("a"), "old").ok());
  for (const FileOp op : {FileOp::create, FileOp::write, FileOp::sync, FileOp::rename}) {
    Watcher watcher;
    watcher.fail_op = op;
    watcher.fail_with = ENOSPC;
    const auto done = write_file_atomic(at("a"), "new");
    ASSERT_FALSE(done.ok()) << name_of(op);
    EXPECT_EQ(done.error().code, Code::unavailable);
    EXPECT_FALSE(done.error().mend.empty());
    EXPECT_EQ(content(at("a")), "old");
    EXPECT_EQ(list_directory(dir_.path())->size(), 1u);
  }
}

TEST_F(Files, AfterAFailedSyncNothingMoreIsWritten) {
  File file = std::move(File::create_new(at("a")).value());
  ASSERT_TRUE(file.write("one").ok());
  {
    Watcher watcher;
    watcher.fail_op = FileOp::sync;
    watcher.fail_with = EIO;
    EXPECT_FALSE(file.sync().ok());
  }
  EXPECT_TRUE(file.sync_failed());
  EXPECT_FALSE(file.write("two").ok());
  EXPECT_FALSE(file.pwrite("two", 0).ok());
  EXPECT_FALSE(file.truncate(0).ok());
  EXPECT_FALSE(file.sync().ok());
  EXPECT_EQ(content(at("a")), "one");
}

TEST_F(Files, ReadsAndWritesAtPlaces) {
  File file = std::move(File::create_new(at("a")).value());
  ASSERT_TRUE(file.write("hello").ok());
  ASSERT_TRUE(file.pwrite("J", 0).ok());
  ASSERT_TRUE(file.write(" you").ok());
  std::array<std::byte, 16> buffer{};
  EXPECT_EQ(*file.pread(buffer, 0), 9u);
  EXPECT_EQ(as_text(std::span(buffer).first(9)), "Jello you");
  EXPECT_EQ(*file.pread(buffer, 9), 0u);
  ASSERT_TRUE(file.seek(6).ok());
  EXPECT_EQ(*file.read(buffer), 3u);
  ASSERT_TRUE(file.truncate(5).ok());
  EXPECT_EQ(*file.size(), 5);
  EXPECT_EQ(File::create_new(at("a")).error().code, Code::exists);
}

TEST_F(Files, DoesNotFollowALinkWhenTold) {
  ASSERT_TRUE(append_file(at("a"), "x", Sync::no).ok());
  ASSERT_TRUE(make_symlink("a", at("link")).ok());
  EXPECT_TRUE(File::open_read(at("link")).ok());
  EXPECT_FALSE(File::open(at("link"), {.follow_links = false}).ok());
}

TEST_F(Files, CopiesByWhateverWayAndNeverLinks) {
  std::string big(3 << 20, 'x');
  big += "end";
  ASSERT_TRUE(write_file_atomic(at("a"), big, 0755).ok());
  ASSERT_TRUE(copy_file(at("a"), at("b"), Sync::yes).ok());
  EXPECT_EQ(content(at("b")), big);
  EXPECT_EQ(status(at("b"))->st_mode & 0777, 0755u);
  EXPECT_NE(status(at("a"))->st_ino, status(at("b"))->st_ino);
  EXPECT_EQ(copy_file(at("a"), at("b"), Sync::no).error().code, Code::exists);
  Watcher watcher;
  EXPECT_EQ(*copy_file(at("a"), at("c"), Sync::no), CopyWay::bytes);
  EXPECT_EQ(content(at("c")), big);
  EXPECT_FALSE(copy_file("/dev/null", at("d"), Sync::no).ok());
  int pieces = 0;
  const auto ended = copy_file(at("a"), at("e"), Sync::no, [&] { return ++pieces < 3; });
  EXPECT_EQ(ended.error().code, Code::gone);
  EXPECT_FALSE(exists(at("e")));
}

TEST_F(Files, MakesDirectoriesAndTheirParents) {
  ASSERT_TRUE(make_directories(at("a/b/c"), 0700, Sync::yes).ok());
  ASSERT_TRUE(make_directories(at("a/b/c/")).ok());
  EXPECT_EQ(status(at("a/b"))->st_mode & 0777, 0700u);
  ASSERT_TRUE(append_file(at("file"), "", Sync::no).ok());
  EXPECT_EQ(make_directories(at("file")).error().code, Code::exists);
}

TEST_F(Files, NamesAndParents) {
  EXPECT_EQ(parent_of("a/b"), "a");
  EXPECT_EQ(parent_of("a"), ".");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("/a//b//"), "/a");
  EXPECT_EQ(parent_of("/"), "/");
  EXPECT_EQ(os::name_of("a/b/"), "b");
  EXPECT_EQ(os::name_of("/"), "");
  EXPECT_EQ(os::name_of("a"), "a");
}

TEST_F(Files, RemovesTreesWithoutFollowingLinks) {
  ASSERT_TRUE(make_directories(at("keep")).ok());
  ASSERT_TRUE(append_file(at("keep/precious"), "x", Sync::no).ok());
  ASSERT_TRUE(make_directories(at("tree/a/b")).ok());
  ASSERT_TRUE(make_symlink(at("keep"), at("tree/a/link")).ok());
  ASSERT_TRUE(append_file(at("tree/a/b/file"), "x", Sync::no).ok());
  ASSERT_TRUE(set_mode(at("tree/a"), 0).ok());
  ASSERT_TRUE(remove_tree(at("tree")).ok());
  EXPECT_FALSE(exists(at("tree")));
  EXPECT_TRUE(exists(at("keep/precious")));
  ASSERT_TRUE(make_symlink(at("keep"), at("link")).ok());
  ASSERT_TRUE(remove_tree(at("link")).ok());
  EXPECT_TRUE(exists(at("keep/precious")));
  EXPECT_TRUE(remove_tree(at("none")).ok());
  EXPECT_FALSE(remove_tree(at("keep/..")).ok());
}

TEST_F(Files, RemovesTreesOfAnyDepthAndWidth) {
  // In memory where there is such a place. Deeper than there are descriptors, longer than PATH_MAX.
  const auto memory = TemporaryDirectory::make("deep", exists("/dev/shm") ? "/dev/shm" : "");
  const std::string top = *memory / "top";
  ASSERT_TRUE(make_directory(top).ok());
  Fd folder(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(50, 'd');
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(mkdirat(folder.get(), name.c_str(), 0700), 0);
    folder = Fd(openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(static_cast<bool>(folder));
  }
  for (int i = 0; i < 5000; ++i)
    ASSERT_TRUE(append_file(format("{}/{}", top, i), "", Sync::no).ok());
  const auto done = remove_tree(top);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_FALSE(exists(top));
}

TEST_F(Files, RemovingWhileSomebodySwapsADirectoryForALinkTouchesNothingElse) {
  ASSERT_TRUE(make_directories(at("keep")).ok());
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(append_file(at("keep") + format("/{}", i), "x", Sync::no).ok());
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      ::rename(at("tree/a").c_str(), at("tree/b").c_str());
      ignore(make_symlink(at("keep"), at("tree/a")));
      ::unlink(at("tree/a").c_str());
      ::rename(at("tree/b").c_str(), at("tree/a").c_str());
    }
  });
  for (int round = 0; round < 50; ++round) {
    ignore(make_directories(at("tree/a/inner")));
    ignore(append_file(at("tree/a/inner/file"), "x", Sync::no));
    ignore(remove_tree(at("tree")));
  }
  stop = true;
  swapper.join();
  // The test itself may have come through the link with "inner"; what was there must be there.
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(exists(at("keep") + format("/{}", i)));
}

TEST_F(Files, DoesNotEmptyWhatIsMountedInside) {
  ASSERT_TRUE(make_directories(at("tree/mounted")).ok());
  ASSERT_TRUE(make_directories(at("data")).ok());
  ASSERT_TRUE(append_file(at("data/set"), "x", Sync::no).ok());
  if (mount(at("data").c_str(), at("tree/mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "may not mount";
  const auto done = remove_tree(at("tree"));
  umount2(at("tree/mounted").c_str(), MNT_DETACH);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::conflict);
  EXPECT_TRUE(exists(at("data/set")));
}

TEST_F(Files, ListsSortedWithKinds) {
  ASSERT_TRUE(append_file(at("b"), "", Sync::no).ok());
  ASSERT_TRUE(make_directory(at("a")).ok());
  ASSERT_TRUE(make_symlink("b", at("c")).ok());
  const auto entries = list_directory(dir_.path());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].kind, EntryKind::directory);
  EXPECT_EQ((*entries)[1].kind, EntryKind::file);
  EXPECT_EQ((*entries)[2].kind, EntryKind::symlink);
  EXPECT_EQ(list_directory(dir_.path(), 2).error().code, Code::too_large);
}

TEST_F(Files, KnowsTheFileSystem) {
  EXPECT_GT(free_space(dir_.path())->free_bytes, 0);
  EXPECT_EQ(filesystem_type("/proc")->name, "proc");
  EXPECT_FALSE(filesystem_type(dir_.path())->remote);
  EXPECT_FALSE(filesystem_type(at("none")).ok());
}

TEST_F(Files, ALockSaysWhoHoldsItAndDiesWithItsHolder) {
  EXPECT_FALSE(lock_holder(at("lock"))->has_value());
  {
    const auto first = FileLock::acquire(at("lock"));
    ASSERT_TRUE(first.ok());
    const auto second = FileLock::acquire(at("lock"));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Code::conflict);
    EXPECT_NE(second.error().detail.find(format("process {}", getpid())), std::string::npos);
    EXPECT_EQ(**lock_holder(at("lock")), getpid());
  }
  EXPECT_FALSE(lock_holder(at("lock"))->has_value());
  EXPECT_TRUE(FileLock::acquire(at("lock")).ok());
}

TEST_F(Files, ALockIsNotInheritedByChildren) {
  std::optional<FileLock> lock(std::move(FileLock::acquire(at("lock")).value()));
  SpawnOptions options;
  options.argv = {"/bin/sleep", "100"};
  Process child = std::move(spawn(options).value());
  lock.reset();
  EXPECT_TRUE(FileLock::acquire(at("lock")).ok());
  ASSERT_TRUE(child.send_signal(9).ok());
  EXPECT_EQ(child.wait()->signal, 9);
}

TEST_F(Files, TemporaryDirectoriesVanish) {
  std::string path;
  {
    const auto made = TemporaryDirectory::make("x", dir_.path());
    path = made->path();
    EXPECT_EQ(status(path)->st_mode & 0777, 0700u);
    ASSERT_TRUE(append_file(*made / "file", "x", Sync::no).ok());
  }
  EXPECT_FALSE(exists(path));
}

TEST_F(Files, EventsCarryOffsetsAndInodes) {
  struct Events : FileObserver {
    void happened(const FileEvent& event) override { seen.push_back(event); }
    std::vector<FileEvent> seen;
  } events;
  set_file_observer(&events);
  {
    File file = std::move(File::open_append(at("a")).value());
    ASSERT_TRUE(file.write("abc").ok());
    ASSERT_TRUE(file.write("de").ok());
  }
  set_file_observer(nullptr);
  ASSERT_EQ(events.seen.size(), 3u);
  EXPECT_EQ(events.seen[0].op, FileOp::create);
  EXPECT_EQ(events.seen[2].offset, 3);
  EXPECT_EQ(events.seen[0].inode, status(at("a"))->st_ino);
  EXPECT_EQ(events.seen[2].inode, events.seen[0].inode);
  EXPECT_EQ(events.seen[0].path, at("a"));
}

}  // namespace
}  // namespace hearth::os
