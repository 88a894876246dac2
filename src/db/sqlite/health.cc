#include "db/sqlite/health.h"

#include <algorithm>

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
    if (std::ranges::find(places_, place) != places_.end()) return;
    if (++place_count_ <= kPlacesBound) {
      log_error("{} is damaged: {}", path_, place);
      places_.push_back(std::move(place));
    }
  }
  raise(kDamaged);
}

std::string Health::damage_words() const {
  std::string more;
  if (place_count_ > places_.size()) more = format(" and {} more", place_count_ - places_.size());
  return format("{} is damaged: {}{}", path_, join(places_, ", "), more);
}

std::string Health::text() const {
  const int state = state_.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  if ((state & kDamaged) != 0) return damage_words();
  if ((state & kFailed) != 0) return format("{} takes no writes: {}", path_, failure_);
  if ((state & kFull) != 0) return format("{} takes no writes: the disk is full", path_);
  return "";
}

Error Health::error() const {
  const int state = state_.load(std::memory_order_acquire);
  std::string mend = "free space on its disk; writes go on by themselves then";
  if ((state & kFailed) != 0) mend = "look at the disk (dmesg), then restart the server";
  if ((state & kDamaged) != 0)
    mend = "restore the last backup (hearth restore); what is whole can be read";
  std::string words = text();
  if (words.empty()) words = path_ + " took no write just now";  // it got well in between
  return Error::unavailable(std::move(words), std::move(mend));
}

Error Health::damage_error() const {
  const std::lock_guard lock(mutex_);
  return Error::internal(damage_words(), "restore the last backup (hearth restore)");
}

}  // namespace hearth::db
