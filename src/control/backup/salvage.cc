// What is whole of a damaged data directory, as a backup.
#include <set>

#include <sys/stat.h>

#include "base/format.h"
#include "control/backup/archive.h"
#include "control/backup/holders.h"
#include "control/emit.h"
#include "db/tables.h"
#include "os/files.h"

namespace hearth::control {
namespace {

constexpr size_t kHexBytes = 64;
constexpr size_t kMostDigests = 10'000'000;

Result<std::string> digest_of(const std::string& path) {
  os::File file = TRY(os::File::open_read(path));
  Sha256 hash;
  Bytes piece(1 << 20);
  for (;;) {
    const size_t n = TRY(file.read(piece));
    if (n == 0) return hash.finish_text();
    hash.update(std::span<const std::byte>(piece).first(n));
  }
}

// The objects that are whole; the digests of all others that stand there go into `hurt`.
Result<std::set<std::string>> add_objects(const std::string& directory, Archive& archive,
                                          std::set<std::string>& hurt) {
  std::set<std::string> whole;
  for (int i = 0; i < 256; ++i) {
    const std::string folder = format("{}/{:02x}", directory, i);
    if (!os::exists(folder)) continue;
    for (const os::Entry& entry : TRY(os::list_directory(folder))) {
      if (entry.kind != os::EntryKind::file || entry.name.size() != kHexBytes) continue;
      const std::string path = folder + "/" + entry.name, digest = "sha256:" + entry.name;
      const auto found = digest_of(path);
      const auto status = os::status(path);
      if (found.ok() && *found == digest && status.ok()) {
        archive.add_object(path, digest, status->st_size);
        whole.insert(digest);
      } else {
        hurt.insert(digest);
      }
    }
  }
  return whole;
}

Result<std::set<std::string>> pinned_objects(db::Session& session) {
  std::set<std::string> digests;
  TRY(session.query("SELECT DISTINCT digest FROM pins WHERE holder NOT LIKE 'upload:%' LIMIT $1",
                    {static_cast<int64_t>(kMostDigests)}, [&](const db::Row& row) -> Result<void> {
                      digests.emplace(row.text(0));
                      return {};
                    }));
  return digests;
}

// Numbers that are given out again would be taken twice.
Result<void> settle_counters(db::Session& session) {
  constexpr std::string_view raise =
      "INSERT INTO counters (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = "
      "CASE WHEN excluded.value > counters.value THEN excluded.value ELSE counters.value END";
  std::map<std::string, int64_t> least;
  for (const auto& [name, sql] :
       {std::pair("events", "SELECT COALESCE(MAX(seq), 0) FROM events"),
        std::pair("run_changes", "SELECT COALESCE(MAX(seq), 0) FROM run_changes"),
        std::pair("metric_blocks", "SELECT COALESCE(MAX(block), 0) FROM run_metrics")})
    TRY(session.query(sql, {}, [&](const db::Row& row) -> Result<void> {
      least[name] = row.integer(0);
      return {};
    }));
  TRY(session.query("SELECT job_id, MAX(version) FROM live_params GROUP BY job_id", {},
                    [&](const db::Row& row) -> Result<void> {
                      least[format("live:{}", row.text(0))] = row.integer(1);
                      return {};
                    }));
  TRY(session.query(
      "SELECT project, name, number FROM jobs", {}, [&](const db::Row& row) -> Result<void> {
        const std::string_view name = row.text(1);
        int64_t& number = least[format("job:{}:{}", row.text(0), name.substr(0, name.rfind('-')))];
        number = std::max(number, row.integer(2));
        return {};
      }));
  for (const auto& [name, value] : least) TRY(session.execute(raise, {name, value}));
  return {};
}

// A job whose attempt or tasks are lost would wait for them for ever.
Result<void> end_half_jobs(db::Session& session, Clock& clock, std::vector<std::string>& lost) {
  for (Job& job : TRY(db::Table<Job>::select(
           session, "WHERE state IN ('preparing', 'running', 'saving') ORDER BY id", {}))) {
    const auto attempt = TRY(db::Table<Attempt>::get(session, job.attempt_id));
    const auto tasks =
        TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1", {job.attempt_id}));
    if (attempt && tasks.size() == attempt->places.size()) continue;
    job.state = JobState::failed;
    job.finished_at = clock.now();
    job.failure = Failure{};
    job.failure->failure_class = FailureClass::lost;
    job.failure->text = "what was written down of this attempt was damaged";
    job.failure->mend = format("`hearth job retry {}` runs it again", job.name);
    TRY(db::Table<Job>::update(session, job));
    TRY(emit(session, clock, server_actor(), job.project, "job.failed", job.id, job.version,
             R"({"state":"failed"})"));
    lost.push_back(format("the end of job {}: it is failed now", job.name));
  }
  return {};
}

class Salvage {
 public:
  Salvage(const SalvageSource& source, Clock& clock, const std::string& folder)
      : source_(source), clock_(clock), folder_(folder) {}

  Result<void> collect() {
    archive_.index().created_at = clock_.now();
    TRY(archive_.add_logs(source_.log_directory, folder_));
    std::set<std::string> hurt;
    const auto whole = TRY(add_objects(source_.objects_directory, archive_, hurt));
    const std::string copy = folder_ + "/salvaged.db";
    const db::Salvaged saved = TRY(source_.database(copy));
    archive_.report().mended = saved.mended;
    archive_.report().left_out = saved.lost;
    TRY(settle(copy, whole, hurt));
    archive_.index().left_out = archive_.report().left_out;
    return archive_.add_file(copy, std::string(kDatabaseName));
  }
  Archive& archive() { return archive_; }

 private:
  // The new database fits together again; objects that it names and that are not whole are told.
  Result<void> settle(const std::string& copy, const std::set<std::string>& whole,
                      std::set<std::string>& hurt) {
    auto database = TRY(source_.open_database(copy));
    archive_.index().tables = database->version();
    std::vector<std::string> ended;
    TRY(database->write([&](db::Session& session) -> Result<void> {
      ended.clear();
      TRY(settle_counters(session));
      return end_half_jobs(session, clock_, ended);
    }));
    std::vector<std::string>& left_out = archive_.report().left_out;
    left_out.insert(left_out.end(), ended.begin(), ended.end());
    TRY(database->read([&](db::Session& session) -> Result<void> {
      archive_.index().server_id = TRY(db::get_setting(session, "server_id")).value_or("");
      for (const std::string& digest : TRY(pinned_objects(session)))
        if (!whole.contains(digest)) hurt.insert(digest);
      for (const std::string& digest : hurt) {
        const std::string whose = holders_of(session, digest);
        left_out.push_back(format("object {}: {}", digest, whose.empty() ? "nobody's" : whose));
      }
      return {};
    }));
    return database->check();
  }

  const SalvageSource& source_;
  Clock& clock_;
  const std::string folder_;
  Archive archive_;
};

}  // namespace

Result<BackupReport> salvage(const SalvageSource& source, Clock& clock, const std::string& file,
                             const Progress& progress) {
  if (os::exists(file)) return Error::of(Code::exists, file + " is there already");
  const std::string folder = os::parent_of(file);
  const auto copies = TRY(os::TemporaryDirectory::make("hearth-salvage", folder));
  Salvage salvage(source, clock, copies.path());
  TRY(salvage.collect());
  const std::string partial = copies / "backup.tar";
  TRY(salvage.archive().write(partial, progress));
  TRY(os::rename_file(partial, file));
  TRY(os::fsync_directory(folder));
  return salvage.archive().report();
}

}  // namespace hearth::control
