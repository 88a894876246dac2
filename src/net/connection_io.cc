#include <algorithm>
#include <exception>

#include "base/log.h"
#include "net/connection.h"

namespace hearth::net {
namespace {

constexpr size_t kMostReadAhead = 64 << 10;  // of pipelined requests while one of them waits
constexpr int kMostReadsInARow = 16;         // before other connections get their turn
constexpr Duration kLongestWait = Duration::seconds(24 * 3600);

}  // namespace

// Bytes in the home's scratch buffer, good until the next co_await; 0: the end, or expired_.
Task<size_t> Connection::read_some() {
  if (++reads_in_a_row_ > kMostReadsInARow) {
    co_await give_way();
  }
  bool wait_first = stream_->drained();
  for (;;) {
    if (aborted_ || gone_) co_return 0;
    IoStep step{IoStatus::want_read, 0};
    if (!wait_first) step = stream_->read(home_->scratch());
    wait_first = false;
    if (step.status == IoStatus::done) co_return step.bytes;
    if (step.status == IoStatus::closed) co_return 0;
    reads_in_a_row_ = 0;
    const bool can = co_await ready(step.status);
    if (!can) co_return 0;
  }
}

Task<void> Connection::give_way() {
  reads_in_a_row_ = 0;
  const UseAwaitable token;
  co_await asio::post(home_->executor(), token);
}

void Connection::decode_held() {
  if (!exchange_)
    exchange_ = std::make_unique<Exchange>(
        DecoderLimits{core_.options.most_head_bytes, core_.options.most_headers});
  input_at_ += exchange_->decoder.feed(std::string_view(input_).substr(input_at_));
  if (holds_input()) return;
  input_ = std::string();
  input_at_ = 0;
}

// Gives the decoder what read_some() put into the scratch buffer, and keeps what it leaves.
void Connection::decode_fresh(size_t bytes) {
  if (!exchange_)
    exchange_ = std::make_unique<Exchange>(
        DecoderLimits{core_.options.most_head_bytes, core_.options.most_headers});
  const std::string_view fresh(home_->scratch().data(), bytes);
  const size_t used = exchange_->decoder.feed(fresh);
  if (used < bytes) input_.assign(fresh.substr(used));
}

// Waits for the socket; false once the deadline has passed or the connection is given up.
Task<bool> Connection::ready(IoStatus wanted) {
  if (expired_ || aborted_) co_return false;
  const Ready what =
      wanted == IoStatus::want_write ? Descriptor::wait_write : Descriptor::wait_read;
  Failed failed;
  auto token = into(failed);
  co_await descriptor_.async_wait(what, std::move(token));
  co_return !failed && !expired_ && !aborted_;
}

// Waits until the client has read some of what it was sent. False: it does not, or so slowly that
// its answer would hold connection and file for ever, or it has gone.
Task<bool> Connection::room(IoStatus wanted) {
  const ServerOptions& options = core_.options;
  const Time began = system_clock().steady();
  set_deadline(options.write_time);
  const bool can = co_await ready(wanted);
  if (expired_) core_.metrics.met(Bound::write_time);
  if (!can) co_return false;
  clear_deadline();
  waited_.micros += (system_clock().steady() - began).micros;
  if (waited_ < options.write_rate_window) co_return true;
  const bool slow = static_cast<double>(taken_) <
                    static_cast<double>(options.least_write_rate) * waited_.seconds();
  if (slow) core_.metrics.met(Bound::write_rate);
  waited_ = Duration{0};
  taken_ = 0;
  co_return !slow;
}

// Writes what goes without waiting; false when the connection is broken.
bool Connection::write_now(std::string_view& data, MoreFollows more) {
  while (!data.empty()) {
    const IoStep step = stream_->write(data, more);
    if (step.status == IoStatus::closed) return false;
    if (step.status != IoStatus::done) break;
    data.remove_prefix(step.bytes);
    taken_ += static_cast<int64_t>(step.bytes);
  }
  return true;
}

Task<bool> Connection::write_all(std::string_view data, MoreFollows more) {
  while (!data.empty()) {
    const IoStep step = stream_->write(data, more);
    if (step.status == IoStatus::closed) co_return false;
    if (step.status == IoStatus::done) {
      data.remove_prefix(step.bytes);
      taken_ += static_cast<int64_t>(step.bytes);
      continue;
    }
    const bool can = co_await room(step.status);
    if (!can) co_return false;
  }
  co_return true;
}

// Runs a later step of this request on a worker. It refers to this frame: nobody leaves before it
// has ended, the server neither.
Task<void> Connection::on_worker(std::function<void()> work) {
  job_done_ = false;
  job_threw_ = false;
  core_.pool->post([self = shared_from_this(), &work] {
    try {
      if (!self->core_.abandoned) work();
    } catch (const std::exception& error) {
      log_error("a step of a request threw: {}", error.what());
      self->job_threw_ = true;
    }
    self->job_ended();
  });
  co_await job_end();
}

void Connection::job_ended() {
  home_->post([self = shared_from_this()] {
    self->job_done_ = true;
    self->event_.cancel();
  });
}

Task<void> Connection::job_end() {
  while (!job_done_) {
    event_.expires_at(Timer::time_point::max());
    Failed cancelled;
    auto token = into(cancelled);
    co_await event_.async_wait(std::move(token));
  }
}

// Until one of the topics is newer than seen, or for `limit`; holds no thread.
Task<Connection::Woken> Connection::wait_for(const Topics& topics, Duration limit) {
  woken_ = false;
  const uint64_t generation = ++generation_;
  const Time end = system_clock().steady() + std::min(limit, kLongestWait);
  std::vector<Signals::Subscription> subscriptions;
  for (const auto& [topic, seen] : topics)
    subscriptions.push_back(core_.signals.wait(topic, seen, [weak = weak_from_this(), generation] {
      const auto self = weak.lock();
      if (!self) return;
      self->home_->post([self, generation] { self->wake(generation); });
    }));
  core_.metrics.waiting.add(1);
  watch();
  Woken result = Woken::time;
  for (;;) {
    const Time now = system_clock().steady();
    if (gone_ || aborted_) {
      result = Woken::gone;
    } else if (woken_) {
      result = Woken::topic;
    } else if (core_.stopping) {
      result = Woken::stop;
    } else if (now < end) {
      event_.expires_after((end - now).chrono());
      Failed cancelled;
      auto token = into(cancelled);
      co_await event_.async_wait(std::move(token));
      continue;
    }
    break;
  }
  watching_ = false;
  core_.metrics.waiting.add(-1);
  co_return result;
}

void Connection::wake(uint64_t generation) {
  if (generation != generation_) return;
  woken_ = true;
  event_.cancel();
}

// While a request waits, its client may leave or pipeline more: reads ahead, within a bound.
void Connection::watch() {
  watching_ = true;
  if (!watch_armed_) read_ahead();
}

void Connection::arm_watch() {
  watch_armed_ = true;
  descriptor_.async_wait(Descriptor::wait_read, [self = shared_from_this()](const Failed& failed) {
    self->watch_armed_ = false;
    if (!failed && self->watching_) self->read_ahead();
  });
}

void Connection::read_ahead() {
  for (;;) {
    if (input_.size() - input_at_ >= kMostReadAhead) return;  // found gone when it is written to
    const IoStep step = stream_->read(home_->scratch());
    if (step.status == IoStatus::closed) {
      gone_ = true;
      event_.cancel();
      return;
    }
    if (step.status != IoStatus::done) return arm_watch();
    input_.append(home_->scratch().data(), step.bytes);
  }
}

}  // namespace hearth::net
