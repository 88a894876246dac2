#include "shim/syncer.h"

#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "domain/codec.h"

namespace hearth::shim {
namespace {

constexpr size_t kSmallBatch = 64 << 10;
constexpr Duration kLongWait = Duration::seconds(3600);

bool refusal(const Error& error) {
  return error.code == Code::invalid || error.code == Code::too_large ||
         error.code == Code::conflict || error.code == Code::internal;
}

}  // namespace

Syncer::Syncer(const ShimOptions& options, const TaskSpec& spec, Spool& spool,
               std::string live_path, Hooks hooks)
    : protocols_(options.protocols),
      protocol_pause_(options.protocol_pause),
      spec_(spec),
      spool_(spool),
      live_path_(std::move(live_path)),
      hooks_(std::move(hooks)),
      sending_(spec),
      listening_(spec),
      protocol_(spec.protocol) {}

Syncer::~Syncer() {
  ended_.store(true);
  spool_.wake();
  changed_.notify_all();
  sending_.cancel();
  listening_.cancel();
  if (sender_.joinable()) sender_.join();
  if (listener_.joinable()) listener_.join();
}

void Syncer::start() {
  sender_ = std::thread([this] { send_loop(); });
  listener_ = std::thread([this] { listen_loop(); });
}

bool Syncer::finish() {
  finishing_.store(true);
  spool_.wake();
  changed_.notify_all();
  if (sender_.joinable()) sender_.join();
  return gone_.load() || spool_.drained();
}

// False when there is no time left to wait.
bool Syncer::pause(Duration duration) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, duration.chrono(), [&] { return ended_.load() || gone_.load(); });
  return !ended_.load() && !gone_.load();
}

std::string Syncer::head(const SpoolBatch& batch, int64_t protocol, double wait_seconds) const {
  std::string states;
  for (const StateRecord& state : batch.states) {
    if (!states.empty()) states += ',';
    states += to_json(state);
  }
  return format(
      "{{\"protocol\":{},\"oldest_protocol\":{},\"newest_protocol\":{},\"epoch\":{},"
      "\"wait_seconds\":{},\"live_version\":{},\"states\":[{}],\"records\":[{}],\"log_bytes\":{}}}"
      "\n",
      protocol, protocols_.oldest, protocols_.newest, spec_.epoch, wait_seconds,
      live_version_.load(), states, batch.records, batch.frames.size());
}

// Chooses the version of the next request, and how long to wait before it. Both threads may have
// asked in the same one: only the first of them moves it.
Duration Syncer::after_unread(int64_t protocol, const Error& error) {
  const int64_t next = protocol > protocols_.oldest ? protocol - 1 : protocols_.newest;
  int64_t seen = protocol;
  const bool moved = protocol_.compare_exchange_strong(seen, next);
  if (moved) ++unread_;
  if (unread_.load() <= protocols_.newest - protocols_.oldest) return kFirstBackOff;
  if (moved) log_error("{} ({}); what this task says is kept", error.detail, error.mend);
  return protocol_pause_;
}

void Syncer::send_loop() {
  Duration back_off = kFirstBackOff;
  while (!ended_.load() && !gone_.load()) {
    if (finishing_.load() && spool_.drained()) return;
    spool_.wait(kLongWait);
    auto batch = spool_.next_batch();
    if (!batch.ok()) log_error("reading the spool: {}", batch.error().text());
    if (batch.ok() && batch->empty()) continue;
    const size_t size = batch.ok() ? batch->records.size() + batch->frames.size() : 0;
    const int64_t protocol = protocol_.load();
    const auto sent = batch.ok() ? send_batch(*batch, protocol) : Result<void>(batch.error());
    if (sent.ok()) {
      back_off = kFirstBackOff;
      refusals_.store(0);
      if (size < kSmallBatch && !finishing_.load()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kPace.chrono(),
                          [&] { return ended_.load() || gone_.load() || finishing_.load(); });
      }
      continue;
    }
    if (sent.error().code == Code::gone) return lost_interest();
    if (sent.error().code == Code::unsupported) {
      if (!pause(after_unread(protocol, sent.error()))) return;
      continue;
    }
    if (folder_removed()) return lost_interest();
    if (refusal(sent.error())) {
      log_warning("the server refuses what this task says: {}", sent.error().text());
      if (++refusals_ >= kMostRefusals && finishing_.load()) return;
    }
    if (!pause(back_off)) return;
    back_off = std::min(Duration{back_off.micros * 2}, kLongestBackOff);
  }
}

Result<void> Syncer::send_batch(const SpoolBatch& batch, int64_t protocol) {
  const SyncAnswer answer = TRY(sending_.sync(head(batch, protocol, 0) + batch.frames, {}));
  spool_.acknowledge(answer.acknowledged);
  take(answer);
  return {};
}

void Syncer::listen_loop() {
  Duration back_off = kFirstBackOff;
  while (!ended_.load() && !gone_.load()) {
    const int64_t protocol = protocol_.load();
    const auto answer =
        listening_.sync(head({}, protocol, kWaitSeconds), Duration::seconds(kWaitSeconds));
    if (ended_.load()) return;
    if (answer.ok()) {
      back_off = kFirstBackOff;
      take(*answer);
      // An order to stop is answered at once each time.
      if (answer->stop && !pause(kLongestBackOff)) return;
      continue;
    }
    if (answer.error().code == Code::gone) return lost_interest();
    if (answer.error().code == Code::unsupported) {
      if (!pause(after_unread(protocol, answer.error()))) return;
      continue;
    }
    if (folder_removed()) return lost_interest();
    if (!pause(back_off)) return;
    back_off = std::min(Duration{back_off.micros * 2}, kLongestBackOff);
  }
}

// Then nobody will ever come for what it says: without this it would wait for ever.
bool Syncer::folder_removed() const {
  return !live_path_.empty() && !os::exists(os::parent_of(live_path_));
}

void Syncer::lost_interest() {
  if (gone_.exchange(true)) return;
  spool_.wake();
  changed_.notify_all();
  hooks_.gone();
}

void Syncer::take(const SyncAnswer& answer) {
  unread_.store(0);
  if (protocols_.contains(answer.protocol)) protocol_.store(answer.protocol);
  if (answer.live_version > live_version_.load()) take_live(answer);
  if (answer.stop && !stopped_.exchange(true)) hooks_.stop(answer);
}

void Syncer::take_live(const SyncAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (answer.live_version <= live_version_.load() || live_path_.empty()) return;
  std::string values;
  for (const auto& [name, live] : answer.live) {
    if (!values.empty()) values += ',';
    values +=
        format("{}:{{\"value\":{},\"version\":{},\"at_step\":{}}}", json_quote(name),
               live.value.text, live.version, live.at_step ? format("{}", *live.at_step) : "null");
  }
  const auto written = os::write_file_atomic(
      live_path_, format("{{\"version\":{},\"values\":{{{}}}}}\n", answer.live_version, values),
      0644, os::Sync::no);
  if (!written.ok()) {
    log_error("{}", written.error().text());
    return;
  }
  live_version_.store(answer.live_version);
}

}  // namespace hearth::shim
