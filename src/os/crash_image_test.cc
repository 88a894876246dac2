#include "os/crash_image.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::os {
namespace {

class Power : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_directory(at("root")).ok()); }
  void TearDown() override { set_file_observer(nullptr); }
  std::string at(std::string_view name) const { return dir_ / name; }

  void record() {
    recorder_ = std::move(PowerRecorder::start(at("root")).value());
    set_file_observer(recorder_.get());
  }
  void stop() {
    set_file_observer(nullptr);
    recording_ = recorder_->recording().value();
  }
  // Calls look(image, cut) for `seeds` images at every cut.
  template <typename Look>
  void images(int seeds, const CrashOptions& options, Look&& look) {
    for (size_t cut = 0; cut <= recording_.ops.size(); ++cut)
      for (int seed = 0; seed < seeds; ++seed) image(cut, seed, options, look);
  }
  template <typename Look>
  void image(size_t cut, int seed, const CrashOptions& options, Look&& look) {
    SeededRandom random(static_cast<uint64_t>(seed) * 1000 + cut);
    const std::string into = at("image");
    const auto built = build_crash_image(recording_, cut, random, into, options);
    ASSERT_TRUE(built.ok()) << built.error().text();
    look(into, cut);
    ASSERT_TRUE(remove_tree(into).ok());
  }
  static std::string content(const std::string& path) {
    return read_file(path, 1 << 26).value_or("(not there)");
  }
  // Every name with its bytes.
  static std::map<std::string, std::string> tree(const std::string& root) {
    std::map<std::string, std::string> out;
    ignore(walk(root, [&](const Found& found) -> Result<bool> {
      out[found.path] = found.kind == EntryKind::file ? content(root + "/" + found.path) : "/";
      return true;
    }));
    return out;
  }
  // In memory where there is such a place: thousands of small images.
  TemporaryDirectory dir_ = std::move(
      TemporaryDirectory::make("hearth-power", exists("/dev/shm") ? "/dev/shm" : "").value());
  std::unique_ptr<PowerRecorder> recorder_;
  Recording recording_;
};

const std::string kOld(1500, 'o'), kNew(2500, 'n');
constexpr int kSeeds = 30;

TEST_F(Power, AtomicWritesAreOldOrNewAndOnceAnsweredNew) {
  ASSERT_TRUE(write_file_atomic(at("root/a"), kOld).ok());
  record();
  ASSERT_TRUE(write_file_atomic(at("root/a"), kNew).ok());
  recorder_->mark("new");
  ASSERT_TRUE(append_file(at("root/other"), "x", Sync::no).ok());
  stop();
  int old_seen = 0, new_seen = 0;
  images(kSeeds, {}, [&](const std::string& image, size_t cut) {
    const std::string text = content(image + "/a");
    EXPECT_TRUE(text == kOld || text == kNew) << text.size() << " at " << cut;
    if (!marks_before(recording_, cut).empty()) EXPECT_EQ(text, kNew) << cut;
    ++(text == kOld ? old_seen : new_seen);
  });
  EXPECT_GT(old_seen, 0);
  EXPECT_GT(new_seen, 0);
}

// The point of it all: a sync that is left out is found.
TEST_F(Power, ALeftOutSyncIsFound) {
  ASSERT_TRUE(write_file_atomic(at("root/a"), kOld).ok());
  record();
  ASSERT_TRUE(write_file_atomic(at("root/a"), kNew).ok());
  recorder_->mark("new");
  stop();
  int torn = 0, lost = 0;
  const CrashOptions no_file_sync{[](const FileEvent& event) { return event.op == FileOp::sync; }};
  images(kSeeds, no_file_sync, [&](const std::string& image, size_t) {
    const std::string text = content(image + "/a");
    if (text != kOld && text != kNew) ++torn;
  });
  const CrashOptions no_folder_sync{
      [](const FileEvent& event) { return event.op == FileOp::sync_directory; }};
  images(kSeeds, no_folder_sync, [&](const std::string& image, size_t cut) {
    if (!marks_before(recording_, cut).empty() && content(image + "/a") != kNew) ++lost;
  });
  EXPECT_GT(torn, 0);
  EXPECT_GT(lost, 0);
}

TEST_F(Power, SyncedBytesOfALogStayAndOnlyTheTailSuffers) {
  record();
  File log = std::move(File::open_append(at("root/log")).value());
  ASSERT_TRUE(fsync_directory(at("root")).ok());
  std::string all;
  std::map<std::string, size_t> acknowledged;
  for (int i = 0; i < 6; ++i) {
    const std::string record = format("record {} {}\n", i, std::string(300, 'x'));
    ASSERT_TRUE(log.write(record).ok());
    all += record;
    if (i % 2 == 1) {
      ASSERT_TRUE(log.sync().ok());
      recorder_->mark(format("{}", i));
      acknowledged[format("{}", i)] = all.size();
    }
  }
  ASSERT_TRUE(log.write("never synced").ok());
  stop();
  std::set<std::string> tails;
  images(kSeeds, {}, [&](const std::string& image, size_t cut) {
    const auto marks = marks_before(recording_, cut);
    if (marks.empty()) return;
    const size_t sure = acknowledged[marks.back()];
    const std::string text = content(image + "/log");
    ASSERT_GE(text.size(), sure);
    EXPECT_EQ(text.substr(0, sure), all.substr(0, sure));
    if (cut == recording_.ops.size()) tails.insert(text.substr(sure));
  });
  EXPECT_TRUE(tails.contains(""));
  EXPECT_TRUE(tails.contains("never synced"));
  EXPECT_TRUE(tails.contains(std::string(12, '\0')));  // the size alone
}

TEST_F(Power, NamesWithoutASyncMayVanishOrStay) {
  ASSERT_TRUE(append_file(at("root/gone"), "g", Sync::no).ok());
  record();
  ASSERT_TRUE(append_file(at("root/made"), "m", Sync::no).ok());
  ASSERT_TRUE(remove_file(at("root/gone")).ok());
  ASSERT_TRUE(make_directories(at("root/folder/deep")).ok());
  stop();
  std::set<std::string> seen;
  for (int seed = 0; seed < 200; ++seed)
    image(recording_.ops.size(), seed, {}, [&](const std::string& image, size_t) {
      std::vector<std::string> names;
      for (const auto& [name, text] : tree(image)) names.push_back(name);
      seen.insert(format("{}", join(names, " ")));
    });
  EXPECT_TRUE(seen.contains("gone"));
  EXPECT_TRUE(seen.contains("folder folder/deep made"));
  EXPECT_TRUE(seen.contains("gone made"));  // the first kept, the later ones lost
  EXPECT_TRUE(seen.contains("folder"));     // its own name kept, what is inside lost
  EXPECT_FALSE(seen.contains("folder/deep"));
}

TEST_F(Power, AFileMovedAcrossFoldersIsNeverLost) {
  ASSERT_TRUE(make_directories(at("root/from")).ok());
  ASSERT_TRUE(make_directories(at("root/to")).ok());
  ASSERT_TRUE(append_file(at("root/from/a"), "bytes", Sync::no).ok());
  record();
  ASSERT_TRUE(rename_file(at("root/from/a"), at("root/to/b")).ok());
  ASSERT_TRUE(fsync_directory(at("root/from")).ok());
  stop();
  std::set<int> counts;
  images(100, {}, [&](const std::string& image, size_t cut) {
    const bool old_name = content(image + "/from/a") == "bytes";
    const bool new_name = content(image + "/to/b") == "bytes";
    EXPECT_TRUE(old_name || new_name);
    if (cut == recording_.ops.size()) EXPECT_TRUE(new_name && !old_name);
    counts.insert(old_name + new_name);
  });
  EXPECT_TRUE(counts.contains(2));  // a crash between the two halves
}

TEST_F(Power, WhatIsSyncedIsWhatIsThere) {
  record();
  ASSERT_TRUE(make_directories(at("root/a/b"), 0755, Sync::yes).ok());
  ASSERT_TRUE(write_file_atomic(at("root/a/b/file"), kNew).ok());
  ASSERT_TRUE(write_file_atomic(at("root/x"), kOld).ok());
  ASSERT_TRUE(copy_file(at("root/x"), at("root/copy"), Sync::yes).ok());
  ASSERT_TRUE(rename_file(at("root/x"), at("root/y")).ok());
  ASSERT_TRUE(make_symlink("y", at("root/link")).ok());
  ASSERT_TRUE(make_directories(at("root/away/in")).ok());
  ASSERT_TRUE(append_file(at("root/away/in/file"), "x", Sync::no).ok());
  ASSERT_TRUE(remove_tree(at("root/away")).ok());
  // A file from elsewhere, renamed in.
  ASSERT_TRUE(append_file(at("upload"), "uploaded", Sync::no).ok());
  ASSERT_TRUE(rename_file(at("upload"), at("root/upload")).ok());
  ASSERT_TRUE(fsync_directory(at("root")).ok());
  stop();
  for (int seed = 0; seed < 20; ++seed)
    image(recording_.ops.size(), seed, {},
          [&](const std::string& image, size_t) { EXPECT_EQ(tree(image), tree(at("root"))); });
}

TEST_F(Power, TheSameNumbersGiveTheSameImage) {
  record();
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(append_file(at("root/") + format("{}", i), kOld, Sync::no).ok());
  stop();
  std::set<std::map<std::string, std::string>> different;
  for (int seed = 0; seed < 20; ++seed) {
    std::map<std::string, std::string> first;
    image(15, seed, {}, [&](const std::string& image, size_t) { first = tree(image); });
    image(15, seed, {}, [&](const std::string& image, size_t) { EXPECT_EQ(tree(image), first); });
    different.insert(first);
  }
  EXPECT_GT(different.size(), 8u);
}

TEST_F(Power, AWriteToAFileThatWasNeverSeenIsAnError) {
  record();
  set_file_observer(nullptr);
  File hidden = std::move(File::create_new(at("root/hidden")).value());
  set_file_observer(recorder_.get());
  ASSERT_TRUE(hidden.write("x").ok());
  stop();
  SeededRandom random(1);
  EXPECT_FALSE(build_crash_image(recording_, 1, random, at("image")).ok());
}

// Random writes, truncates and syncs of one file: each byte of an image must be one that stood
// there at the last sync or was put there later.
TEST_F(Power, EveryByteIsAccountedFor) {
  SeededRandom random(42);
  record();
  File file = std::move(File::create_new(at("root/f")).value());
  ASSERT_TRUE(fsync_directory(at("root")).ok());
  for (int i = 0; i < 40; ++i) {
    const auto offset = static_cast<int64_t>(random.below(4000));
    const std::string bytes(1 + random.below(2000), static_cast<char>('A' + i));
    if (random.below(5) == 0) {
      ASSERT_TRUE(file.truncate(offset).ok());
    } else {
      ASSERT_TRUE(file.pwrite(bytes, offset).ok());
    }
    if (random.below(4) == 0) ASSERT_TRUE(file.sync().ok());
  }
  stop();
  images(3, {}, [&](const std::string& image, size_t cut) {
    if (cut < 2) return;
    std::string synced, now;
    std::vector<uint64_t> allowed(8192);  // bit i: 'A' + i was put there since the sync
    size_t shortest = 0, longest = 0;
    for (size_t i = 0; i < cut; ++i) {
      const RecordedOp& op = recording_.ops[i];
      if (op.event.op == FileOp::write) {
        const auto from = static_cast<size_t>(op.event.offset);
        now.resize(std::max(now.size(), from + op.data.size()), '\0');
        std::copy(op.data.begin(), op.data.end(), now.begin() + op.event.offset);
        for (size_t at = from; at < from + op.data.size(); ++at)
          allowed[at] |= uint64_t{1} << (op.data[0] - 'A');
        longest = std::max(longest, now.size());
      } else if (op.event.op == FileOp::truncate) {
        now.resize(static_cast<size_t>(op.event.size), '\0');
        shortest = std::min(shortest, now.size());
        longest = std::max(longest, now.size());
      } else if (op.event.op == FileOp::sync) {
        synced = now;
        shortest = longest = now.size();
        std::fill(allowed.begin(), allowed.end(), 0);
      }
    }
    const std::string text = content(image + "/f");
    EXPECT_GE(text.size(), shortest);
    EXPECT_LE(text.size(), longest);
    for (size_t at = 0; at < text.size(); ++at) {
      const bool was = at < synced.size() && text[at] == synced[at];
      // Zero: never written since the sync, or behind a truncate.
      const bool zero = text[at] == '\0' && at >= shortest;
      const bool put = text[at] != '\0' && (allowed[at] >> (text[at] - 'A') & 1) != 0;
      if (!was && !zero && !put) FAIL() << "byte " << at << " at " << cut;
    }
  });
}

}  // namespace
}  // namespace hearth::os
