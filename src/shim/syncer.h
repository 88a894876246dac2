// Ships the spool and hears the server's orders: one thread sends what is there, another waits for
// news in a long poll, so that neither holds up the other.
//
// It begins in the version of the protocol that its order is written in and goes on in that of the
// last answer. Where the server does not read a version, the one below is tried, and below the
// oldest the newest again: the server may be replaced by one that does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "os/files.h"
#include "shim/link.h"
#include "shim/shim.h"
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
  Syncer(const ShimOptions& options, const TaskSpec& spec, Spool& spool, std::string live_path,
         Hooks hooks);
  ~Syncer();
  void start();
  // Returns once all is acknowledged (true), or the server wants none of it (true), or it refuses
  // what is there (false). Waits for a server that is away.
  bool finish();
  bool is_gone() const { return gone_.load(); }

 private:
  void send_loop();
  void listen_loop();
  Result<void> send_batch(const SpoolBatch& batch, int64_t protocol);
  std::string head(const SpoolBatch& batch, int64_t protocol, double wait_seconds) const;
  Duration after_unread(int64_t protocol, const Error& error);
  void take(const SyncAnswer& answer);
  void take_live(const SyncAnswer& answer);
  bool folder_removed() const;
  void lost_interest();
  bool pause(Duration duration);

  const ProtocolRange protocols_;
  const Duration protocol_pause_;
  const TaskSpec& spec_;
  Spool& spool_;
  const std::string live_path_;
  const Hooks hooks_;
  ServerLink sending_, listening_;
  std::atomic<bool> finishing_{false}, ended_{false}, gone_{false}, stopped_{false};
  std::atomic<int64_t> live_version_{0};
  std::atomic<int> refusals_{0};
  std::atomic<int64_t> protocol_;  // of the next request
  std::atomic<int> unread_{0};     // versions tried in vain, one after the other
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread sender_, listener_;
};

}  // namespace hearth::shim
