// Whether the database still takes writes, and why not. Fails closed: what is not known to be on
// the disk is never guessed.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"

namespace hearth::db {

class Health {
 public:
  // At most so many places are named; the number of all is counted.
  static constexpr size_t kPlacesBound = 16;

  // `advice`: what to do about damage; told with every error.
  // `note`: a file that is made when damage is found, so that the next open looks for it at once.
  explicit Health(std::string path, std::function<std::string()> advice = {}, std::string note = "")
      : path_(std::move(path)), advice_(std::move(advice)), note_(std::move(note)) {}

  void disk_full();  // until disk_has_room()
  void disk_has_room();
  void failed(std::string what);    // a sync or write that failed: until the next open
  void damaged(std::string place);  // "page 17": until the next open
  // What the last damaged place belongs to ("table jobs"), as who met it knows.
  void belongs(const std::string& owner);
  void refuse(std::string why);  // damage beside the database: until the next open

  bool refuses() const { return state_.load(std::memory_order_acquire) != 0; }
  bool is_full() const { return (state_.load(std::memory_order_acquire) & kFull) != 0; }
  // True when nothing may touch the files any more, not even a checkpoint.
  bool is_failed() const { return (state_.load(std::memory_order_acquire) & kFailed) != 0; }
  bool is_damaged() const { return (state_.load(std::memory_order_acquire) & kDamaged) != 0; }
  std::string text() const;    // "" while well
  Error error() const;         // for a write that is refused; refuses() is true
  Error damage_error() const;  // for a statement that met damage

 private:
  static constexpr int kFull = 1, kFailed = 2, kDamaged = 4, kBeside = 8;
  std::string damage_words() const;  // under mutex_
  std::string advice() const;

  void raise(int state);

  const std::string path_;
  const std::function<std::string()> advice_;
  const std::string note_;
  Gauge& refusing_ = metrics().gauge("hearth_db_refusing", "1 while writes are refused");
  std::atomic<int> state_{0};
  mutable std::mutex mutex_;
  std::string failure_;
  std::vector<std::string> places_;
  std::vector<std::string> beside_;  // at most kPlacesBound
  size_t place_count_ = 0;
};

}  // namespace hearth::db
