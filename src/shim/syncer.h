// Ships the spool and hears the server's orders: one thread sends what is there, another waits for
// news in a long poll, so that neither holds up the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "shim/link.h"
#include "shim/spool.h"

namespace hearth::shim {

class Syncer {
 public:
  static constexpr double kWaitSeconds = 25;
  static constexpr Duration kPace = Duration::millis(50);  // between small batches
  static constexpr int kMostRefusals = 10;                 // of one batch, before a drain gives up

  struct Hooks {                                         // called from the threads of the syncer
    std::function<void(const SyncAnswer& answer)> stop;  // the server wants the task to end
    std::function<void()> gone;                          // it wants nothing of it any more
  };
  Syncer(const TaskSpec& spec, Spool& spool, std::string live_path, Hooks hooks);
  ~Syncer();
  void start();
  // Returns once all is acknowledged (true), or the server wants none of it (true), or it refuses
  // what is there (false). Waits for a server that is away.
  bool finish();
  bool is_gone() const { return gone_.load(); }

 private:
  void send_loop();
  void listen_loop();
  Result<void> send_batch(const SpoolBatch& batch);
  std::string head(const SpoolBatch& batch, double wait_seconds) const;
  void take(const SyncAnswer& answer);
  void take_live(const SyncAnswer& answer);
  void lost_interest();
  bool pause(Duration duration);

  const TaskSpec& spec_;
  Spool& spool_;
  const std::string live_path_;
  const Hooks hooks_;
  ServerLink sending_, listening_;
  std::atomic<bool> finishing_{false}, ended_{false}, gone_{false}, stopped_{false};
  std::atomic<int64_t> live_version_{0};
  std::atomic<int> refusals_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread sender_, listener_;
};

}  // namespace hearth::shim
