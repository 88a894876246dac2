#include "control/backup/backup.h"

#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "base/id.h"
#include "control/backup/last_backup.h"
#include "control/backup/tar.h"
#include "control/fixture_test.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

class BackupTest : public ControlTest {
 protected:
  void SetUp() override {
    set_log_sink([](Level, std::string_view) {});
    must(os::make_directory(logs_, 0700));
    must(os::write_file_atomic(logs_ + "/01TASK.frames", "frames of a log"));
    for (int i = 0; i < 20; ++i) digests_.push_back(put(std::string(1000 * i, 'a') + "end"));
    must(write([&](db::Session& session) -> Result<void> {
      TRY(db::set_setting(session, "server_id", "01SERVER"));
      for (const auto& [name, key] :
           std::vector<std::pair<std::string, Bytes>>{{"ONE", key_}, {"TWO", Bytes(32)}}) {
        const Secret secret{.id = new_id(clock_, random_),
                            .name = name,
                            .project = "p",
                            .sealed = to_base64(TRY(seal(key, "value", "p/" + name)))};
        TRY(db::Table<Secret>::insert(session, secret));
      }
      return {};
    }));
  }
  void TearDown() override { set_log_sink(nullptr); }

  Result<BackupReport> back_up() {
    os::exists(file_) ? ignore(os::remove_file(file_)) : void();
    return backup(context(), gate_, logs_, file_, {});
  }
  Result<BackupReport> bring_back() {
    const std::string to = target_;
    return restore(file_, to, key_,
                   [to]() -> Result<RestoreTarget> {
                     RestoreTarget target{to + "/state/hearth.db", to + "/state/logs", nullptr,
                                          nullptr};
                     target.objects = TRY(objects::DirectoryObjects::open(to + "/objects"));
                     target.open_database = [to] {
                       return db::open_sqlite({.path = to + "/state/hearth.db"});
                     };
                     return target;
                   },
                   {});
  }
  static std::string text_of(const std::string& path) {
    return os::read_file(path, 1 << 20).value_or("");
  }
  // Changes one byte of the archive.
  void hurt(size_t at) {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
  }

  const std::string logs_ = folder_ / "logs";
  const std::string file_ = folder_ / "backup.tar";
  const std::string target_ = folder_ / "restored";
  const Bytes key_ = Bytes(32, std::byte{7});
  CollectionGate gate_;
  std::vector<std::string> digests_;
};

TEST_F(BackupTest, WhatIsBackedUpComesBackWhole) {
  const auto made = back_up();
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->objects, 20);
  EXPECT_EQ(std::filesystem::status(file_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto back = bring_back();
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->objects, 20);
  EXPECT_EQ(back->bytes, made->bytes);
  EXPECT_TRUE(back->damaged.empty());
  EXPECT_EQ(back->closed_secrets, std::vector<std::string>{"p/TWO"});
  EXPECT_EQ(text_of(target_ + "/state/logs/01TASK.frames"), "frames of a log");
  const auto objects = objects::DirectoryObjects::open(target_ + "/objects");
  ASSERT_TRUE(objects.ok());
  for (const std::string& digest : digests_) {
    const auto bytes = (*objects)->get(digest, 0, 1 << 20);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_EQ(sha256(*bytes), digest);
  }
  // Nothing is left beside.
  EXPECT_EQ(os::list_directory(target_)->size(), 2U);
}

TEST_F(BackupTest, AnyTarReadsIt) {
  ASSERT_TRUE(back_up().ok());
  const std::string list = folder_ / "list";
  ASSERT_EQ(std::system(format("tar -tf {} > {} && tar -xOf {} index.json | grep -q 01SERVER",
                               file_, list, file_)
                            .c_str()),
            0);
  EXPECT_TRUE(text_of(list).starts_with("index.json\nlogs/01TASK.frames\nhearth.db\nobjects/"))
      << text_of(list);
}

TEST_F(BackupTest, BothRefuseToOverwrite) {
  ASSERT_TRUE(back_up().ok());
  EXPECT_EQ(backup(context(), gate_, logs_, file_, {}).error().code, Code::exists);
  must(os::make_directory(target_));
  must(os::write_file_atomic(target_ + "/mine", "x"));
  const auto refused = bring_back();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().detail.find("is not empty"), std::string::npos);
  EXPECT_EQ(text_of(target_ + "/mine"), "x");
}

TEST_F(BackupTest, ADamagedObjectIsLeftOutAndNamed) {
  const std::string hex = digests_[7].substr(7);
  const std::string path = folder_ / format("objects/{}/{}", hex.substr(0, 2), hex);
  ASSERT_TRUE(os::exists(path));
  must(os::set_mode(path, 0600));
  std::ofstream(path, std::ios::app) << "more";
  const auto made = back_up();
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->damaged, std::vector<std::string>{digests_[7]});
  const auto back = bring_back();
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->objects, 19);
  EXPECT_EQ(back->damaged, made->damaged);
}

// Every byte counts: whichever is changed, the restore says so.
TEST_F(BackupTest, ADamagedArchiveIsFound) {
  ASSERT_TRUE(back_up().ok());
  const size_t size = std::filesystem::file_size(file_);
  SeededRandom random(9);
  for (int i = 0; i < 40; ++i) {
    const size_t at = random.below(size);
    hurt(at);
    const auto back = bring_back();
    // Padding and the header's spare fields hold nothing; all else is digests and names.
    const bool noticed = !back.ok() || !back->damaged.empty();
    if (!noticed) {
      EXPECT_EQ(back->objects, 20) << at;
    }
    if (!back.ok()) {
      EXPECT_NE(back.error().text().find("backup.tar"), std::string::npos) << back.error().text();
    }
    if (!back.ok()) {
      EXPECT_TRUE(os::list_directory(target_)->empty()) << at;
    }
    must(os::remove_tree(target_));
    hurt(at);
  }
  for (const size_t cut : {size_t{0}, size_t{100}, size / 2, size - 1100}) {
    std::filesystem::resize_file(file_, cut);
    const auto back = bring_back();
    ASSERT_FALSE(back.ok()) << cut;
    EXPECT_EQ(back.error().code, Code::invalid) << back.error().text();
    EXPECT_TRUE(os::list_directory(target_)->empty()) << cut;
    must(os::remove_tree(target_));
    ASSERT_TRUE(back_up().ok());
  }
}

// As after a kill -9 or lost power in the middle of a restore.
TEST_F(BackupTest, APartOfARestoreIsNotTakenForTheWhole) {
  ASSERT_TRUE(back_up().ok());
  ASSERT_TRUE(bring_back().ok());
  EXPECT_TRUE(check_restored(target_).ok());
  must(os::write_file_atomic(format("{}/{}", target_, kRestoreMark), ""));
  const auto refused = check_restored(target_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().mend.find("rm -r " + target_), std::string::npos);
  EXPECT_EQ(bring_back().error().text(), refused.error().text());
  EXPECT_TRUE(os::exists(target_ + "/state/hearth.db")) << "what it refuses stays as it is";
}

// What a job has in every corner of the tables.
class SalvageTest : public BackupTest {
 protected:
  void SetUp() override {
    BackupTest::SetUp();
    must(write([&](db::Session& session) -> Result<void> {
      for (const auto& [name, state, attempt] : {std::tuple("cnn-3", JobState::running, "a"),
                                                 {"cnn-4", JobState::succeeded, ""},
                                                 {"cnn-5", JobState::running, "lost"}}) {
        const Job job{.id = new_id(clock_, random_),
                      .name = name,
                      .number = name[4] - '0',
                      .project = "p",
                      .state = state,
                      .attempt_id = attempt};
        TRY(db::Table<Job>::insert(session, job));
        TRY(db::append_event(session, {.kind = "job.submitted", .id = job.id}));
        if (job.name == "cnn-4") finished_ = job.id;
      }
      TRY(db::Table<Attempt>::insert(session, {.id = "a", .job_id = "j", .places = {{}}}));
      TRY(db::Table<Task>::insert(session, {.id = "t", .attempt_id = "a", .job_id = finished_}));
      TRY(db::Table<ModelVersion>::insert(session, {.id = "v", .model = "m", .project = "p"}));
      TRY(db::pin(session, digests_[3], "model:v", clock_.now()));
      TRY(db::pin(session, digests_[4], "log:t", clock_.now()));
      TRY(session.execute(
          "INSERT INTO log_segments (task_id, first_seq, last_seq, lines, first_time, last_time, "
          "digest, size_bytes, raw_bytes) VALUES ('t', 1, 70, 70, 1, 2, $1, 1, 1)",
          {digests_[4]}));
      return {};
    }));
  }
  std::string path_of(const std::string& digest) const {
    const std::string hex = digest.substr(7);
    return folder_ / format("objects/{}/{}", hex.substr(0, 2), hex);
  }
  void hurt_object(const std::string& digest) const {
    must(os::set_mode(path_of(digest), 0600));
    std::ofstream(path_of(digest), std::ios::app) << "more";
  }
  Result<BackupReport> save() {
    SalvageSource source;
    source.log_directory = logs_;
    source.objects_directory = folder_ / "objects";
    source.database = [&](const std::string& to) {
      return db::salvage_sqlite(folder_ / "hearth.db", to);
    };
    source.open_database = [](const std::string& path) { return db::open_sqlite({.path = path}); };
    return salvage(source, clock_, file_, {});
  }
  std::string finished_;
};

TEST_F(SalvageTest, WhatIsWholeIsSavedAndWhatIsNotIsToldByItsOwner) {
  hurt_object(digests_[3]);
  hurt_object(digests_[9]);
  must(os::remove_file(path_of(digests_[4])));
  const auto saved = save();
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  EXPECT_EQ(saved->objects, 17);
  std::string all;
  for (const std::string& words : saved->left_out) all += words + "\n";
  EXPECT_EQ(saved->left_out.size(), 4U) << all;
  for (const std::string& words :
       {format("object {}: model m 1", digests_[3]), format("object {}: nobody's", digests_[9]),
        format("object {}: log of job cnn-4, lines 1 to 70", digests_[4]),
        std::string("the end of job cnn-5: it is failed now")})
    EXPECT_NE(all.find(words), std::string::npos) << all;
  EXPECT_EQ(save().error().code, Code::exists);
  const auto back = bring_back();
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->objects, 17);
  EXPECT_TRUE(back->damaged.empty());
  EXPECT_EQ(back->left_out, saved->left_out);
  EXPECT_EQ(text_of(target_ + "/state/logs/01TASK.frames"), "frames of a log");
  // It was only read.
  EXPECT_TRUE(os::exists(path_of(digests_[3])));
  EXPECT_EQ(number("SELECT COUNT(*) FROM jobs WHERE state = 'running'"), 2);
}

TEST_F(SalvageTest, NumbersAreNotGivenOutTwice) {
  must(write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM counters"));  // as if their page were lost
    return {};
  }));
  ASSERT_TRUE(save().ok());
  ASSERT_TRUE(bring_back().ok());
  auto restored = db::open_sqlite({.path = target_ + "/state/hearth.db"}).value();
  must(restored->write([&](db::Session& session) -> Result<void> {
    EXPECT_EQ(TRY(db::next_number(session, "job:p:cnn")), 6);
    EXPECT_EQ(TRY(db::append_event(session, {.kind = "x"})), 5);  // cnn-5's end was the fourth
    const auto ended = TRY(db::Table<Job>::find(session, "WHERE name = 'cnn-5'", {}));
    EXPECT_EQ(ended->state, JobState::failed);
    EXPECT_EQ(ended->failure->failure_class, FailureClass::lost);
    const auto runs = TRY(db::Table<Job>::find(session, "WHERE name = 'cnn-3'", {}));
    EXPECT_EQ(runs->state, JobState::running);  // found lost at the start, and tried again
    return {};
  }));
}

TEST_F(BackupTest, TheLastOneIsRemembered) {
  const std::string note = folder_ / "last_backup.json";
  EXPECT_FALSE(last_backup(note));
  EXPECT_NE(advice_on_damage(note, "/data").find("no backup of this server is known"),
            std::string::npos);
  const KeptBackup kept{"id", "box", "/mnt/b.tar", clock_.now(), 77};
  must(keep_last_backup(note, kept));
  EXPECT_EQ(last_backup(note), kept);
  const std::string advice = advice_on_damage(note, "/data");
  for (const std::string words : {"box:/mnt/b.tar", "2023-11-14T", "--salvage FILE --data /data"})
    EXPECT_NE(advice.find(words), std::string::npos) << advice;
  must(os::write_file_atomic(note, "{"));
  EXPECT_FALSE(last_backup(note));
}

TEST_F(BackupTest, ItRunsBesideWrites) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop)
      must(write([&](db::Session& session) -> Result<void> {
        TRY(db::next_number(session, "a"));
        TRY(db::next_number(session, "b"));
        return {};
      }));
  });
  const auto made = back_up();
  stop = true;
  writer.join();
  ASSERT_TRUE(made.ok()) << made.error().text();
  ASSERT_TRUE(bring_back().ok());
  const auto restored = db::open_sqlite({.path = target_ + "/state/hearth.db"});
  ASSERT_TRUE(restored.ok());
  must((*restored)->read([](db::Session& session) {
    return session.query("SELECT COUNT(DISTINCT value) FROM counters WHERE name IN ('a', 'b')", {},
                         [](const db::Row& row) -> Result<void> {
                           EXPECT_LE(row.integer(0), 1);
                           return {};
                         });
  }));
}

TEST(Tar, StrangeNamesAreNotFollowed) {
  const auto folder = os::TemporaryDirectory::make("hearth-tar").value();
  for (const std::string name : {"../evil", "logs/../evil", "logs/.evil", "objects", "/evil"}) {
    const std::string path = folder / "x.tar";
    auto file = os::File::create_new(path).value();
    TarWriter tar(file);
    const std::string index =
        format(R"({{"format":1,"files":[{{"name":"{}","digest":"{}","size_bytes":1}}]}})", name,
               sha256("x"));
    const auto pour = [](const std::string& text) {
      return [text](const Pour& out) { return out(text); };
    };
    ASSERT_TRUE(tar.add("index.json", static_cast<int64_t>(index.size()), {}, pour(index)).ok());
    ASSERT_TRUE(tar.add(name, 1, {}, pour("x")).ok());
    ASSERT_TRUE(tar.finish().ok());
    const std::string to = folder / "to";
    const auto refused =
        restore(path, to, {},
                [&]() -> Result<RestoreTarget> {
                  return RestoreTarget{to + "/hearth.db", to + "/logs", nullptr, nullptr};
                },
                {});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::invalid) << refused.error().text();
    EXPECT_FALSE(os::exists(folder / "evil"));
    ASSERT_TRUE(os::remove_tree(to).ok() && os::remove_file(path).ok());
  }
}

}  // namespace
}  // namespace hearth::control
