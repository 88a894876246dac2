#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "net/connection.h"

namespace hearth::net {
namespace {

constexpr size_t kSpoolPiece = 256 << 10;   // of a body, per trip to a worker
constexpr int64_t kMostSkipped = 64 << 10;  // of a body nobody wants, to keep the connection
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

// The whole body into x.request; false: the connection ends, with a problem to tell or without.
Task<bool> Connection::take_body() {
  Exchange& x = *exchange_;
  x.decoder.limit_body(x.rule.most_bytes);
  if (x.decoder.state() == RequestDecoder::State::failed) {
    note_failure();
    co_return false;
  }
  if (x.decoder.state() == RequestDecoder::State::body) {
    const bool whole = co_await read_body();
    if (!whole) co_return false;
  }
  static_cast<RequestHead&>(x.request) = std::move(x.decoder.head());
  x.request.body = x.decoder.take_body();
  co_return true;
}

Task<bool> Connection::read_body() {
  Exchange& x = *exchange_;
  if (!reserve_body()) co_return false;
  const bool asked = co_await send_continue();
  if (!asked) co_return false;
  phase_ = Phase::body;
  window_start_ = system_clock().steady();
  window_bytes_ = 0;
  set_deadline(core_.options.body_rate_window);
  while (x.decoder.state() == RequestDecoder::State::body) {
    if (holds_input()) {
      decode_held();
    } else {
      const size_t bytes = co_await read_some();
      if (bytes == 0 && !quick_enough()) co_return false;
      decode_fresh(bytes);
    }
    if (x.decoder.state() == RequestDecoder::State::failed) {
      note_failure();
      co_return false;
    }
    if (!reserve_body()) co_return false;
    const bool whole = x.decoder.state() == RequestDecoder::State::done;
    if (x.rule.to_file && (whole || x.decoder.body_held() >= kSpoolPiece)) {
      const bool written = co_await write_spool();
      if (!written) co_return false;
    }
  }
  clear_deadline();
  phase_ = Phase::answer;
  co_return true;
}

// After a read without bytes: is it only that a window of the rate has ended, and was it good?
bool Connection::quick_enough() {
  if (!expired_ || aborted_) return false;
  const Time now = system_clock().steady();
  const int64_t bytes = exchange_->decoder.body_bytes();
  const double seconds = (now - window_start_).seconds();
  if (static_cast<double>(bytes - window_bytes_) <
      static_cast<double>(core_.options.least_body_rate) * seconds) {
    note(408, format("the body came slower than {} bytes a second", core_.options.least_body_rate),
         Bound::body_rate);
    return false;
  }
  window_start_ = now;
  window_bytes_ = bytes;
  set_deadline(core_.options.body_rate_window);
  return true;
}

// Accounts for what the body in memory is going to be, as far as that is known.
bool Connection::reserve_body() {
  Exchange& x = *exchange_;
  const auto held = static_cast<int64_t>(x.decoder.body_held());
  const int64_t wanted =
      x.rule.to_file ? held : std::max(held, x.decoder.content_length().value_or(0));
  if (wanted <= x.reserved) return true;
  if (!core_.reserve_body(wanted - x.reserved)) {
    note(503, "too many request bodies are in memory", Bound::body_memory);
    return false;
  }
  x.reserved = wanted;
  return true;
}

void Connection::release_request() {
  if (!exchange_) return;
  core_.release_body(exchange_->reserved);
  exchange_->reserved = 0;
  exchange_->request = Request();
  exchange_->spool.remove();
}

// The time that a disk takes is not held against the client.
Task<bool> Connection::write_spool() {
  Exchange& x = *exchange_;
  clear_deadline();
  const std::string piece = x.decoder.take_body();
  const bool whole = x.decoder.state() == RequestDecoder::State::done;
  Result<void> written;
  std::function<void()> work = [&] {
    written = x.spool.write(core_.options.temporary_directory, piece);
    if (!written.ok() || !whole) return;
    auto path = x.spool.finish();
    if (path.ok()) {
      x.request.body_file = std::move(*path);
    } else {
      written = std::move(path).error();
    }
  };
  co_await on_worker(std::move(work));
  if (job_threw_ || !written.ok()) {
    const std::string why = written.ok() ? "the worker failed" : written.error().text();
    log_error("a request's body cannot be kept: {}", why);
    note(503, "the body cannot be kept: " + why, Bound::body_memory);
    co_return false;
  }
  window_start_ = system_clock().steady();
  window_bytes_ = x.decoder.body_bytes();
  set_deadline(core_.options.body_rate_window);
  co_return !aborted_;
}

// Says that the body may come, to a client that waits for that.
Task<bool> Connection::send_continue() {
  if (!exchange_->decoder.expects_continue() || holds_input()) co_return true;
  const bool sent = co_await write_all(kContinue, MoreFollows::no);
  co_return sent;
}

// Reads over a body that nobody wants, where that is cheaper than another connection.
Task<bool> Connection::skip_body() {
  Exchange& x = *exchange_;
  if (x.decoder.state() == RequestDecoder::State::done) co_return true;
  if (x.decoder.expects_continue() || x.decoder.content_length().value_or(INT64_MAX) > kMostSkipped)
    co_return false;
  set_deadline(core_.options.body_rate_window);
  while (x.decoder.state() == RequestDecoder::State::body) {
    if (holds_input()) {
      decode_held();
    } else {
      const size_t bytes = co_await read_some();
      if (bytes == 0) co_return false;
      decode_fresh(bytes);
    }
  }
  clear_deadline();
  co_return x.decoder.state() == RequestDecoder::State::done;
}

}  // namespace hearth::net
