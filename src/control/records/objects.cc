// Objects by digest: who has what, uploads, and who may read.
#include <algorithm>
#include <set>

#include "control/records/state.h"

namespace hearth::control {
namespace {

constexpr size_t kMostAskedAtOnce = 10'000;
constexpr int64_t kLargestObject = 1LL << 42;  // 4 TiB
// A pin of an upload lasts an hour; a younger one than this need not be written again.
constexpr Duration kFreshPin = Duration::seconds(1800);
constexpr int64_t kMostProjects = 1000;

std::string upload_holder(const Identity& who) {
  return "upload:" + (who.token_id.empty() ? who.user : who.token_id);
}

Error not_here(const std::string& digest) {
  return Error::not_found(format("object {} is not here", digest));
}

// Holder prefix, table of the noun.
struct HolderKind {
  std::string_view prefix, table;
};
constexpr std::array kHolderKinds = {
    HolderKind{"code:", "jobs"},
    HolderKind{"job:", "jobs"},
    HolderKind{"artifact:", "artifacts"},
    HolderKind{"model:", "model_versions"},
    HolderKind{"dataset:", "dataset_versions"},
    HolderKind{"checkpoint:", "checkpoints"},
};

}  // namespace

Result<void> Records::State::keep(db::Session& session, const std::vector<std::string>& digests,
                                  const std::string& holder) {
  const Time now = context.clock.now();
  for (const std::string& digest : digests) {
    TRY(session.execute("DELETE FROM dying_objects WHERE digest = $1", {digest}));
    TRY(db::pin(session, digest, holder, now));
  }
  return {};
}

Result<std::vector<std::string>> Records::State::projects_of_object(db::Session& session,
                                                                    const std::string& digest) {
  std::vector<std::string> projects;
  for (const HolderKind& kind : kHolderKinds) {
    std::string behind(kind.prefix);
    behind.back() = ';';  // the sign after ':'
    TRY(session.query(
        format("SELECT DISTINCT n.project FROM pins p JOIN {} n ON n.id = SUBSTR(p.holder, {}) "
               "WHERE p.digest = $1 AND p.holder > $2 AND p.holder < $3 LIMIT {}",
               kind.table, kind.prefix.size() + 1, kMostProjects),
        {digest, std::string(kind.prefix), behind}, [&](const db::Row& row) -> Result<void> {
          std::string project(row.text(0));
          if (std::find(projects.begin(), projects.end(), project) == projects.end())
            projects.push_back(std::move(project));
          return {};
        }));
  }
  return projects;
}

Result<std::map<std::string, int64_t>> Records::have_objects(
    const Identity& who, const std::vector<std::string>& digests) {
  if (digests.size() > kMostAskedAtOnce)
    return Error::of(Code::too_large, format("{} digests at once", digests.size()),
                     format("ask for at most {}", kMostAskedAtOnce));
  std::map<std::string, int64_t> here;
  for (const std::string& digest : std::set(digests.begin(), digests.end())) {
    if (!is_digest(digest))
      return Error::invalid(format("'{}' is no digest", digest.substr(0, 80)),
                            "an object is named sha256: and 64 hex digits");
    if (const auto size = TRY(state_->context.objects.have(digest))) here[digest] = *size;
  }
  if (here.empty()) return here;

  const std::string holder = upload_holder(who);
  const Time fresh = state_->context.clock.now() - kFreshPin;
  std::vector<std::string> stale;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    stale.clear();
    for (const auto& [digest, size] : here) {
      bool is_fresh = false;
      TRY(session.query(
          "SELECT created_at FROM pins WHERE digest = $1 AND holder = $2 AND created_at > $3",
          {digest, holder, fresh.micros}, [&](const db::Row&) -> Result<void> {
            is_fresh = true;
            return {};
          }));
      if (!is_fresh) stale.push_back(digest);
    }
    return {};
  }));
  if (stale.empty()) return here;
  TRY(state_->context.database.write(
      [&](db::Session& session) { return state_->keep(session, stale, holder); }));
  // Collected between the first look and the pin: then it is not here after all.
  for (const std::string& digest : stale)
    if (!TRY(state_->context.objects.have(digest))) here.erase(digest);
  return here;
}

Result<std::optional<int64_t>> Records::have_object(const Identity& who,
                                                    const std::string& digest) {
  const auto here = TRY(have_objects(who, {digest}));
  const auto found = here.find(digest);
  return found == here.end() ? std::nullopt : std::optional(found->second);
}

Result<objects::Upload> Records::begin_upload(const Identity& who, const std::string& digest,
                                              int64_t size) {
  TRY(state_->access.require_somewhere(who, Grade::member));
  if (!is_digest(digest))
    return Error::invalid(format("'{}' is no digest", digest.substr(0, 80)),
                          "an object is named sha256: and 64 hex digits");
  if (size < 0 || size > kLargestObject)
    return Error::of(Code::too_large, format("an object of {} bytes", size),
                     format("objects have at most {} bytes", kLargestObject));
  return state_->context.objects.begin_upload(digest, size);
}

Result<objects::Upload> Records::upload_state(const Identity&, const std::string& id) {
  return state_->context.objects.upload_state(id);
}

Result<objects::Upload> Records::append_upload(const Identity& who, const std::string& id,
                                               int64_t offset, const std::string& file) {
  TRY(state_->access.require_somewhere(who, Grade::member));
  return state_->context.objects.append(id, offset, file);
}

Result<objects::Stored> Records::finish_upload(const Identity& who, const std::string& id) {
  TRY(state_->access.require_somewhere(who, Grade::member));
  const objects::Stored stored = TRY(state_->context.objects.finish_upload(id));
  TRY(state_->context.database.write([&](db::Session& session) {
    return state_->keep(session, {stored.digest}, upload_holder(who));
  }));
  if (!TRY(state_->context.objects.have(stored.digest)))
    return Error::unavailable(format("object {} was being collected", stored.digest),
                              "send it again");
  return stored;
}

Result<std::string> Records::open_object(const Identity& who, const std::string& digest) {
  if (!is_digest(digest)) return not_here(digest.substr(0, 80));
  std::vector<std::string> projects;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    projects = TRY(State::projects_of_object(session, digest));
    return {};
  }));
  for (const std::string& project : projects) {
    const auto allowed = state_->access.require(who, project, Grade::viewer);
    if (allowed.ok()) return state_->context.objects.local_path(digest);
    if (allowed.error().code != Code::not_found && allowed.error().code != Code::denied)
      return allowed.error();
  }
  return not_here(digest);
}

}  // namespace hearth::control
