#include "objects/directory/directory.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/log.h"
#include "objects/directory/quick_directory_test.h"
#include "os/file_events.h"

namespace hearth::objects {
namespace {

std::string random_bytes(size_t size, uint64_t seed = 1) {
  std::string bytes(size, '\0');
  SeededRandom(seed).fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

class Directory : public ::testing::Test {
 protected:
  Directory() { open(); }
  ~Directory() override { os::set_file_observer(nullptr); }
  void open(DirectoryOptions options = {}) {
    objects.reset();
    auto opened = DirectoryObjects::open(root.path(), options);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    objects = std::move(opened).value();
  }
  std::string path_of(const std::string& digest) const {
    return root / (digest.substr(7, 2) + "/" + digest.substr(7));
  }
  static void flip(const std::string& path, uint64_t bit) {
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    os::File file = std::move(os::File::open(path, {.write = true})).value();
    std::string byte(1, '\0');
    ASSERT_EQ(*file.pread(std::as_writable_bytes(std::span(byte)), static_cast<int64_t>(bit / 8)),
              1u);
    byte[0] = static_cast<char>(byte[0] ^ 1 << bit % 8);
    ASSERT_TRUE(file.pwrite(byte, static_cast<int64_t>(bit / 8)).ok());
  }
  size_t files_in(const std::string& folder) const {
    return os::list_directory(root / folder)->size();
  }
  os::TemporaryDirectory root = quick_directory();
  std::unique_ptr<DirectoryObjects> objects;
};

TEST_F(Directory, ObjectsAreReadOnlyAndNeverLinked) {
  const std::string path = root / "mine";
  ASSERT_TRUE(os::append_file(path, "bytes", os::Sync::no).ok());
  ASSERT_TRUE(objects->put_file(path, "", false).ok());
  const struct stat status = *os::status(path_of(sha256("bytes")));
  EXPECT_EQ(status.st_mode & 07777, 0400u);
  EXPECT_EQ(status.st_nlink, 1u);
  EXPECT_NE(status.st_ino, os::status(path)->st_ino);
  // A file with a second name could still be written by it, so it is not moved in.
  ASSERT_EQ(link(path.c_str(), (root / "other").c_str()), 0);
  ASSERT_TRUE(objects->remove(sha256("bytes")).ok());
  ASSERT_TRUE(objects->put_file(path, "", true).ok());
  EXPECT_FALSE(os::exists(path));
  EXPECT_EQ(os::status(path_of(sha256("bytes")))->st_nlink, 1u);
  ASSERT_EQ(symlink("other", (root / "link").c_str()), 0);
  EXPECT_EQ(objects->put_file(root / "link", "", false).error().code, Code::invalid);
  EXPECT_EQ(objects->put_file(root.path(), "", false).error().code, Code::invalid);
}

TEST_F(Directory, EachFlippedBitIsFoundAtTheFirstRead) {
  SeededRandom random(7);
  set_log_level(Level::error);
  set_log_sink([](Level, std::string_view) {});
  const std::string small = random_bytes(5000), big = random_bytes(3'300'000);
  for (int round = 0; round < 200; ++round) {
    const bool is_big = round % 4 == 0;
    const std::string& bytes = is_big ? big : small;
    const std::string digest = objects->put(bytes)->digest;
    const uint64_t bit = random.below(bytes.size() * 8);
    flip(path_of(digest), bit);
    // A range that holds the bit, the whole, or a path: each finds it.
    const auto at = static_cast<int64_t>(bit / 8);
    Result<std::string> got = round % 3 == 0   ? objects->get(digest, 0, -1)
                              : round % 3 == 1 ? objects->get(digest, at, 1)
                                               : objects->local_path(digest);
    ASSERT_FALSE(got.ok()) << bit;
    ASSERT_EQ(got.error().code, Code::internal);
    ASSERT_NE(got.error().text().find("damaged"), std::string::npos);
    ASSERT_FALSE(objects->have(digest)->has_value());
    ASSERT_EQ(objects->get(digest, 0, -1).error().code, Code::not_found);
  }
  EXPECT_EQ(files_in("damaged"), 200u);
  set_log_sink({});
}

TEST_F(Directory, DamagedBlockHashesAreMadeAnew) {
  SeededRandom random(8);
  set_log_sink([](Level, std::string_view) {});
  const std::string bytes = random_bytes(3'300'000);
  const std::string digest = objects->put(bytes)->digest;
  const std::string side = path_of(digest) + ".blocks";
  const std::string good = *os::read_file(side, 10'000);
  for (int round = 0; round < 60; ++round) {
    flip(side, random.below(good.size() * 8));
    const auto at = static_cast<int64_t>(random.below(bytes.size() - 100));
    const auto part = objects->get(digest, at, 100);
    ASSERT_TRUE(part.ok());
    ASSERT_TRUE(*part == bytes.substr(static_cast<size_t>(at), 100));
    ASSERT_TRUE(*os::read_file(side, 10'000) == good);
  }
  ASSERT_TRUE(os::remove_file(side).ok());
  EXPECT_TRUE(*objects->get(digest, 2'000'000, 10) == bytes.substr(2'000'000, 10));
  // Without them, or with damaged ones, damage of the object is found all the same.
  flip(side, 77);
  flip(path_of(digest), 8);
  EXPECT_EQ(objects->get(digest, 3'000'000, 10).error().code, Code::internal);
  set_log_sink({});
}

TEST_F(Directory, PutHealsADamagedObject) {
  set_log_sink([](Level, std::string_view) {});
  const std::string digest = objects->put("precious")->digest;
  flip(path_of(digest), 3);
  ASSERT_TRUE(objects->put("precious").ok());
  EXPECT_EQ(*objects->get(digest, 0, -1), "precious");
  EXPECT_EQ(files_in("damaged"), 1u);
  set_log_sink({});
}

TEST_F(Directory, WhoeverWantsToKnowIsToldOfDamage) {
  set_log_sink([](Level, std::string_view) {});
  std::vector<std::string> told;
  DirectoryOptions options;
  options.damaged = [&](const std::string& digest) -> DirectoryOptions::Advice {
    told.push_back(digest);
    return {"model m 3", "look into the cupboard"};
  };
  objects.reset();
  objects = DirectoryObjects::open(root.path(), options).value();
  const std::string digest = objects->put("precious")->digest;
  EXPECT_TRUE(objects->damaged()->empty());
  flip(path_of(digest), 3);
  const auto got = objects->get(digest, 0, -1);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().detail.find(digest + " (model m 3) is damaged"), std::string::npos)
      << got.error().text();
  EXPECT_EQ(got.error().mend, "look into the cupboard");
  EXPECT_EQ(told, std::vector{digest});
  objects.reset();
  objects = DirectoryObjects::open(root.path(), options).value();
  EXPECT_EQ(*objects->damaged(), std::vector{digest});  // a restart forgets nothing
  ASSERT_TRUE(objects->put("precious").ok());
  EXPECT_TRUE(objects->damaged()->empty());
  flip(path_of(digest), 3);
  ASSERT_TRUE(objects->put("precious").ok());  // healed by the same bytes: nothing is hurt
  EXPECT_EQ(told.size(), 1u);
  set_log_sink({});
}

TEST_F(Directory, CutOffObjectsAreDamage) {
  set_log_sink([](Level, std::string_view) {});
  const std::string bytes = random_bytes(2'500'000);
  for (const int64_t size : {0, 100, 1 << 20, 2'499'999}) {
    const std::string digest = objects->put(bytes)->digest;
    ASSERT_EQ(chmod(path_of(digest).c_str(), 0600), 0);
    ASSERT_EQ(truncate(path_of(digest).c_str(), size), 0);
    EXPECT_EQ(objects->get(digest, 0, 50).error().code, Code::internal) << size;
  }
  set_log_sink({});
}

// Fails the nth change of a kind, or kills the work there: nothing after it happens.
class Faults : public os::FileObserver {
 public:
  int fault(const os::FileEvent& event) override {
    const bool counts = !only || event.op == *only;
    if (dead) return EIO;
    if (!counts || at-- != 0) return 0;
    dead = stays_dead;
    return error;
  }
  void happened(const os::FileEvent&) override {}
  std::optional<os::FileOp> only;
  int at = 0;
  int error = EIO;
  bool stays_dead = false;
  bool dead = false;
};

TEST_F(Directory, AfterAFailedSyncNothingIsWrittenAnyMore) {
  set_log_sink([](Level, std::string_view) {});
  const std::string kept = objects->put("kept")->digest;
  for (const auto op : {os::FileOp::sync, os::FileOp::sync_directory}) {
    open();
    Faults faults;
    faults.only = op;
    os::set_file_observer(&faults);
    EXPECT_FALSE(objects->put("lost").ok());
    os::set_file_observer(nullptr);
    EXPECT_NE(objects->refusing().find("sync failed"), std::string::npos);
    EXPECT_EQ(objects->put("more").error().code, Code::unavailable);
    EXPECT_EQ(objects->put_file(root / "lock", "", false).error().code, Code::unavailable);
    EXPECT_EQ(objects->remove(kept).error().code, Code::unavailable);
    EXPECT_EQ(objects->begin_upload(kept, 1).error().code, Code::unavailable);
    EXPECT_EQ(*objects->get(kept, 0, -1), "kept");
  }
  open();
  EXPECT_EQ(objects->refusing(), "");
  EXPECT_TRUE(objects->put("more").ok());
  set_log_sink({});
}

TEST_F(Directory, KilledAtAnyStepNothingHalfIsServed) {
  set_log_sink([](Level, std::string_view) {});
  const std::string bytes = random_bytes(1'100'000);
  int steps = 0;
  for (bool through = false; !through; ++steps) {
    ASSERT_LT(steps, 100);
    const std::string file = root / format("file{}", steps);
    ASSERT_TRUE(os::append_file(file, bytes, os::Sync::no).ok());
    Faults faults;
    faults.at = steps;
    faults.stays_dead = true;
    os::set_file_observer(&faults);
    const bool stored = objects->put_file(file, sha256(bytes), steps % 2 == 0).ok();
    os::set_file_observer(nullptr);
    through = !faults.dead;
    open();
    EXPECT_EQ(files_in("tmp"), 0u);
    const bool there = objects->have(sha256(bytes))->has_value();
    EXPECT_TRUE(there || !stored);
    if (there) EXPECT_TRUE(*objects->get(sha256(bytes), 0, -1) == bytes);
    ASSERT_TRUE(objects->put(bytes).ok());
    EXPECT_TRUE(*objects->get(sha256(bytes), 500'000, 100) == bytes.substr(500'000, 100));
    ASSERT_TRUE(objects->remove(sha256(bytes)).ok());
  }
  EXPECT_GT(steps, 6);
  EXPECT_EQ(files_in("damaged"), 0u);
  set_log_sink({});
}

TEST_F(Directory, UploadsSurviveAKillAtAnyStep) {
  set_log_sink([](Level, std::string_view) {});
  const std::string bytes = random_bytes(300'000), part = root / "part";
  int steps = 0;
  for (bool through = false; !through; ++steps) {
    ASSERT_LT(steps, 200);
    const auto upload = objects->begin_upload(sha256(bytes), 300'000);
    ASSERT_TRUE(upload.ok());
    Faults faults;
    faults.at = steps;
    faults.stays_dead = true;
    int64_t acknowledged = 0;
    bool finished = false;
    for (int tries = 0; tries < 20 && !finished; ++tries) {
      const auto now = objects->upload_state(upload->id);
      if (!now.ok()) break;  // finished, and only the answer was lost
      ASSERT_GE(now->received_bytes, acknowledged);
      ignore(os::remove_file(part));
      ASSERT_TRUE(os::append_file(part,
                                  bytes.substr(static_cast<size_t>(now->received_bytes), 100'000),
                                  os::Sync::no)
                      .ok());
      os::set_file_observer(&faults);
      if (now->received_bytes < 300'000) {
        const auto added = objects->append(upload->id, now->received_bytes, part);
        if (added.ok()) acknowledged = added->received_bytes;
      } else {
        finished = objects->finish_upload(upload->id).ok();
      }
      os::set_file_observer(nullptr);
      if (faults.dead) {
        faults.dead = false;
        faults.at = -1;
        faults.stays_dead = false;
        open();
      }
      through = faults.at >= 0;
    }
    ASSERT_TRUE(*objects->get(sha256(bytes), 0, -1) == bytes) << steps;
    ASSERT_TRUE(objects->remove(sha256(bytes)).ok());
    EXPECT_EQ(files_in("uploads"), 0u) << steps;
  }
  EXPECT_GT(steps, 15);
  set_log_sink({});
}

TEST_F(Directory, TornUploadStateCountsUpToTheLastWholePart) {
  const auto upload = objects->begin_upload(sha256("abcdef"), 6);
  const std::string part = root / "part", state = root / ("uploads/" + upload->id + ".state");
  ASSERT_TRUE(os::append_file(part, "abc", os::Sync::no).ok());
  ASSERT_TRUE(objects->append(upload->id, 0, part).ok());
  // A part that was cut off, and bytes of it that were written.
  ASSERT_TRUE(os::append_file(state, "torn!", os::Sync::no).ok());
  ASSERT_TRUE(
      os::append_file(root / ("uploads/" + upload->id + ".data"), "xyz", os::Sync::no).ok());
  open();
  EXPECT_EQ(objects->upload_state(upload->id)->received_bytes, 3);
  ASSERT_TRUE(os::remove_file(part).ok());
  ASSERT_TRUE(os::append_file(part, "def", os::Sync::no).ok());
  EXPECT_EQ(objects->append(upload->id, 3, part)->received_bytes, 6);
  EXPECT_TRUE(objects->finish_upload(upload->id).ok());
}

TEST_F(Directory, IdleUploadsExpire) {
  ManualClock clock;
  open({.clock = &clock});
  const auto old = objects->begin_upload(sha256("old"), 3);
  clock.advance(Duration::seconds(3000));
  const auto young = objects->begin_upload(sha256("young"), 5);
  clock.advance(Duration::seconds(1000));
  EXPECT_EQ(*objects->sweep_uploads(Duration::seconds(3600)), 1);
  EXPECT_EQ(objects->upload_state(old->id).error().code, Code::not_found);
  EXPECT_TRUE(objects->upload_state(young->id).ok());
  EXPECT_EQ(files_in("uploads"), 2u);
}

TEST_F(Directory, UploadsAreBounded) {
  for (size_t i = 0; i < kMostUploads; ++i)
    ASSERT_TRUE(os::append_file(root / format("uploads/{}.state", i), "", os::Sync::no).ok());
  EXPECT_EQ(objects->begin_upload(sha256("x"), 1).error().code, Code::busy);
}

TEST_F(Directory, OneProcessAtATime) {
  const auto second = DirectoryObjects::open(root.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::conflict);
}

TEST_F(Directory, TooLittleRoomIsSaidBeforehand) {
  open({.reserve_bytes = int64_t{1} << 60});
  const auto put = objects->put("x");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code, Code::unavailable);
  EXPECT_NE(put.error().text().find("free"), std::string::npos);
  EXPECT_FALSE(objects->begin_upload(sha256("x"), 1).ok());
}

TEST_F(Directory, FullDiskIsAnErrorAndLosesNothing) {
  const std::string mount = root / "full";
  ASSERT_TRUE(os::make_directory(mount).ok());
  if (::geteuid() != 0 || ::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "mounting a tmpfs of 4 MiB needs root and the right to mount";
  {
    const auto full = std::move(DirectoryObjects::open(mount, {.reserve_bytes = 0})).value();
    const std::string kept = full->put(random_bytes(2'000'000))->digest;
    // Said beforehand where the size is known ...
    EXPECT_EQ(full->put(random_bytes(3'000'000, 2)).error().code, Code::unavailable);
    // ... and when the write itself fails.
    Result<Stored> last = Stored{};
    for (uint64_t i = 0; last.ok() && i < 1000; ++i) last = full->put(random_bytes(40'000, i + 10));
    ASSERT_FALSE(last.ok());
    EXPECT_EQ(last.error().code, Code::unavailable) << last.error().text();
    EXPECT_EQ(os::list_directory(mount + "/tmp")->size(), 0u);
    EXPECT_EQ(full->refusing(), "");
    EXPECT_TRUE(full->get(kept, 0, -1).ok());
    ASSERT_TRUE(full->remove(kept).ok());
    EXPECT_TRUE(full->put(random_bytes(1'000'000, 3)).ok());
  }
  EXPECT_EQ(::umount(mount.c_str()), 0);
}

}  // namespace
}  // namespace hearth::objects
