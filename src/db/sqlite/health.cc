#include "db/sqlite/health.h"

#include <algorithm>
#include <fstream>

#include "base/format.h"
#include "base/log.h"

namespace hearth::db {

void Health::raise(int state) {
  state_.fetch_or(state);
  refusing_.set(1);
}

void Health::disk_full() {
  if (is_full()) return;
  raise(kFull);
  log_error("{}", text());
}

void Health::disk_has_room() {
  if ((state_.fetch_and(~kFull) & kFull) == 0) return;
  refusing_.set(refuses() ? 1 : 0);
  log_info("the disk of {} has room again", path_);
}

void Health::failed(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return;
    failure_ = std::move(what);
  }
  raise(kFailed);
  log_error("{}", text());
}

void Health::damaged(std::string place) {
  {
    const std::lock_guard lock(mutex_);
    const auto same = [&](const std::string& known) {
      return known == place || known.starts_with(place + " (");
    };
    if (std::ranges::any_of(places_, same)) return;
    if (++place_count_ <= kPlacesBound) {
      log_error("{} is damaged: {}", path_, place);
      places_.push_back(std::move(place));
    }
  }
  raise(kDamaged);
  // On a disk that takes nothing any more it is not made; then the first read finds it again.
  if (!note_.empty()) std::ofstream(note_) << text() << '\n';
}

void Health::belongs(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  if (places_.empty() || owner.empty() || places_.back().ends_with(')')) return;
  places_.back() += format(" ({})", owner);
  log_error("{} is damaged: {}", path_, places_.back());
}

void Health::refuse(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(beside_, why) != beside_.end()) return;
    log_error("nothing is written any more: {}", why);
    if (beside_.size() < kPlacesBound) beside_.push_back(std::move(why));
  }
  raise(kBeside);
}

std::string Health::damage_words() const {
  std::string words;
  if (!places_.empty()) words = format("{} is damaged: {}", path_, join(places_, ", "));
  if (place_count_ > places_.size()) words += format(" and {} more", place_count_ - places_.size());
  for (const std::string& why : beside_) words += (words.empty() ? "" : "; ") + why;
  return words;
}

std::string Health::text() const {
  const int state = state_.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  if ((state & (kDamaged | kBeside)) != 0) return damage_words();
  if ((state & kFailed) != 0) return format("{} takes no writes: {}", path_, failure_);
  if ((state & kFull) != 0) return format("{} takes no writes: the disk is full", path_);
  return "";
}

std::string Health::advice() const {
  return advice_ ? advice_() : "restore the last backup (hearth restore)";
}

Error Health::error() const {
  const int state = state_.load(std::memory_order_acquire);
  std::string mend = "free space on its disk; writes go on by themselves then";
  if ((state & kFailed) != 0) mend = "look at the disk (dmesg), then restart the server";
  std::string words = text();
  if ((state & (kDamaged | kBeside)) != 0) {
    words = "nothing is written any more: " + words;
    mend = advice();
  }
  if (words.empty()) words = path_ + " took no write just now";  // it got well in between
  return Error::unavailable(std::move(words), std::move(mend));
}

Error Health::damage_error() const {
  std::string words;
  {
    const std::lock_guard lock(mutex_);
    words = damage_words();
  }
  return Error::internal(std::move(words), advice());
}

}  // namespace hearth::db
