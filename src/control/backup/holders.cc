#include "control/backup/holders.h"

#include <array>

#include "base/format.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

constexpr size_t kMostNamed = 5;  // holders of one object

// Selects whose it is and which part of that; $1 is what stands behind the prefix of the holder.
struct HolderKind {
  std::string_view prefix, what, sql;
};
constexpr std::array kKinds = {
    HolderKind{"code:", "code of job", "SELECT name, '' FROM jobs WHERE id = $1"},
    HolderKind{"job:", "job", "SELECT name, '' FROM jobs WHERE id = $1"},
    HolderKind{"model:", "model", "SELECT model, number FROM model_versions WHERE id = $1"},
    HolderKind{"dataset:", "dataset", "SELECT dataset, number FROM dataset_versions WHERE id = $1"},
    HolderKind{"artifact:", "artifact of run",
               "SELECT r.name, a.path FROM artifacts a JOIN runs r ON r.id = a.run_id WHERE a.id = "
               "$1"},
    HolderKind{"checkpoint:", "checkpoint of job",
               "SELECT j.name, c.step FROM checkpoints c JOIN jobs j ON j.id = c.job_id WHERE c.id "
               "= $1"},
    HolderKind{"template:", "code of template", "SELECT CAST($1 AS TEXT), ''"},
    HolderKind{"log:", "log of job",
               "SELECT j.name, '' FROM tasks t JOIN jobs j ON j.id = t.job_id WHERE t.id = $1"},
};

Result<std::string> name_of(db::Session& session, const std::string& holder) {
  for (const HolderKind& kind : kKinds) {
    if (!holder.starts_with(kind.prefix)) continue;
    const std::string id = holder.substr(kind.prefix.size());
    std::string words = format("{} {}", kind.what, id);
    TRY(session.query(kind.sql, {id}, [&](const db::Row& row) -> Result<void> {
      words = format("{} {} {}", kind.what, row.text(0), row.text(1));
      while (words.ends_with(' ')) words.pop_back();
      return {};
    }));
    return words;
  }
  return std::string();  // an upload that nothing uses yet
}

Result<std::string> lines_of(db::Session& session, const std::string& digest,
                             const std::string& holder) {
  std::string words;
  if (!holder.starts_with("log:")) return words;
  TRY(session.query(
      "SELECT first_seq, last_seq FROM log_segments WHERE task_id = $1 AND digest = $2",
      {holder.substr(4), digest}, [&](const db::Row& row) -> Result<void> {
        words = format(", lines {} to {}", row.integer(0), row.integer(1));
        return {};
      }));
  return words;
}

}  // namespace

std::string holders_of(db::Session& session, const std::string& digest) {
  std::vector<std::string> holders, named;
  ignore(session.query("SELECT holder FROM pins WHERE digest = $1 ORDER BY holder", {digest},
                       [&](const db::Row& row) -> Result<void> {
                         holders.emplace_back(row.text(0));
                         return {};
                       }));
  for (const std::string& holder : holders) {
    if (named.size() == kMostNamed) {
      named.push_back("and more");
      break;
    }
    const auto name = name_of(session, holder);
    const auto lines = name.ok() ? lines_of(session, digest, holder) : Result<std::string>("");
    const std::string words = name.ok() ? *name + (lines.ok() ? *lines : "") : holder;
    if (!words.empty()) named.push_back(words);
  }
  return format("{}", join(named, "; "));
}

std::string holders_of(db::Database& database, const std::string& digest) {
  std::string words;
  ignore(database.read([&](db::Session& session) -> Result<void> {
    words = holders_of(session, digest);
    return {};
  }));
  return words;
}

}  // namespace hearth::control
