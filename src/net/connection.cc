#include "net/connection.h"

#include <exception>

#include "base/format.h"
#include "base/log.h"

namespace hearth::net {
namespace {

// How long what a refused client still sends is read and dropped, so that it gets to see why.
constexpr Duration kLingerTime = Duration::seconds(2);

}  // namespace

Connection::Connection(Core& core, std::shared_ptr<IoThread> home, int socket, Peer peer,
                       std::unique_ptr<ByteStream> stream)
    : core_(core),
      home_(std::move(home)),
      stream_(std::move(stream)),
      event_(home_->executor()),
      peer_(std::move(peer)),
      peer_text_(peer_.address ? peer_.address->text() : "unix"),
      descriptor_(home_->executor(), socket) {}

Connection::~Connection() = default;

void Connection::start() {
  try {
    home_->add(*this);
    asio::co_spawn(home_->executor(), live(shared_from_this()), asio::detached);
  } catch (const std::exception& error) {
    log_error("a connection of {} cannot be served: {}", peer_text_, error.what());
    close();
  }
}

Task<void> Connection::live(std::shared_ptr<Connection> self) {
  try {
    co_await self->run();
  } catch (const std::exception& error) {
    // Out of memory: this connection ends, the others go on.
    log_error("a connection of {} ended: {}", self->peer_text_, error.what());
  }
  self->close();
}

Task<void> Connection::run() {
  const bool open = co_await shake_hands();
  bool again = open;
  while (again) {
    const bool has_head = co_await read_head();
    again = has_head;
    if (has_head) {
      const bool stays = co_await serve();
      again = stays;
    }
  }
  if (problem_) {
    co_await answer_problem();
  }
  if (linger_) {
    co_await linger();
  }
}

Task<bool> Connection::shake_hands() {
  set_deadline(core_.options.head_time);
  for (;;) {
    const IoStep step = stream_->handshake();
    if (step.status == IoStatus::done) co_return true;
    if (step.status == IoStatus::closed) co_return false;
    const bool can = co_await ready(step.status);
    if (!can) co_return false;
  }
}

Task<bool> Connection::read_head() {
  exchange_.reset();
  phase_ = Phase::idle;
  set_deadline(core_.options.idle_time);
  if (holds_input()) decode_held();
  for (;;) {
    if (exchange_) {
      const auto state = exchange_->decoder.state();
      if (state == RequestDecoder::State::failed) {
        note_failure();
        co_return false;
      }
      if (state != RequestDecoder::State::head) {
        clear_deadline();
        co_return true;
      }
      if (phase_ == Phase::idle) set_deadline(core_.options.head_time);
      phase_ = Phase::head;
    } else if (core_.stopping) {
      co_return false;
    }
    const size_t bytes = co_await read_some();
    if (bytes == 0) {
      if (expired_ && phase_ == Phase::head)
        note(408, "the head of the request did not come in time", Bound::head_time);
      if (expired_ && phase_ == Phase::idle) core_.metrics.met(Bound::idle_time);
      co_return false;
    }
    decode_fresh(bytes);
  }
}

// Who asks, and how the answer is framed.
void Connection::complete_head() {
  Exchange& x = *exchange_;
  RequestHead& head = x.decoder.head();
  phase_ = Phase::answer;
  const auto given = head.headers.get("x-request-id");
  x.id = given && valid_request_id(*given) ? std::string(*given) : home_->new_request_id();
  x.head_only = head.method == "HEAD";
  x.http11 = x.decoder.http11();
  x.keep_alive = x.decoder.keep_alive();
  head.id = x.id;
  head.peer = peer_text_;
  head.peer_uid = peer_.uid;
  head.tls = peer_.address && core_.tls != nullptr;
  if (peer_.address && core_.trusted.contains(*peer_.address)) {
    head.peer = forwarded_address(head.headers, *peer_.address, core_.trusted);
    head.tls = head.tls || forwarded_tls(head.headers);
  }
}

// One request whose head is there. False: the connection ends here.
Task<bool> Connection::serve() {
  complete_head();
  Exchange& x = *exchange_;
  x.rule = core_.handler.rule(x.decoder.head());
  if (x.rule.refuse) {
    x.response = std::move(*x.rule.refuse);
    const bool skipped = co_await skip_body();
    if (!skipped) {
      x.keep_alive = false;
      linger_ = true;
    }
  } else {
    const bool whole = co_await take_body();
    if (!whole) co_return false;
    co_await handle();
    if (x.begun) {
      const bool sent = co_await end_answer();
      co_return sent&& x.keep_alive;
    }
  }
  const bool here = co_await finish_waits();
  if (!here) {
    core_.metrics.answered(0);
    co_return false;
  }
  settle_answer();
  const bool sent = co_await send_response();
  core_.metrics.answered(sent ? x.response.status : 0);
  co_return sent&& x.keep_alive;
}

void Connection::note(int status, std::string detail, Bound bound) {
  core_.metrics.met(bound);
  problem_ = Problem{status, std::move(detail)};
}

void Connection::note_failure() {
  const RequestDecoder::Failure& failure = exchange_->decoder.failure();
  Bound bound = Bound::malformed;
  if (failure.status == 413) bound = Bound::body_size;
  if (failure.status == 431) bound = Bound::head_size;
  note(failure.status, failure.detail, bound);
}

Response Connection::malformed(int status, std::string_view detail) {
  Response response = core_.handler.malformed(status, detail, exchange_->id);
  if (std::holds_alternative<Wait>(response.body) ||
      std::holds_alternative<StreamBody>(response.body))
    response.body = std::string();
  return response;
}

// The last answer of a connection whose state is no longer known.
Task<void> Connection::answer_problem() {
  Exchange& x = *exchange_;
  if (x.id.empty()) x.id = home_->new_request_id();
  x.keep_alive = false;
  x.response = malformed(problem_->status, problem_->detail);
  x.response.status = problem_->status;
  linger_ = true;
  const bool sent = co_await send_response();
  core_.metrics.answered(sent ? x.response.status : 0);
}

// Closing a socket with unread bytes resets it, and the client would lose the answer.
Task<void> Connection::linger() {
  stream_->end_writing();
  set_deadline(kLingerTime);
  size_t bytes = 1;
  while (bytes > 0) {
    const size_t more = co_await read_some();
    bytes = more;
  }
}

void Connection::set_deadline(Duration limit) {
  expired_ = false;
  deadline_ = system_clock().steady() + limit;
}

void Connection::clear_deadline() {
  expired_ = false;
  deadline_ = Time{INT64_MAX};
}

void Connection::look_at_deadline(Time now) {
  if (now < deadline_) return;
  deadline_ = Time{INT64_MAX};
  expired_ = true;
  Failed ignored;
  descriptor_.cancel(ignored);
}

void Connection::stop() {
  if (phase_ == Phase::idle && !exchange_) {
    abandon();
  } else {
    event_.cancel();
  }
}

void Connection::abandon() {
  aborted_ = true;
  Failed ignored;
  descriptor_.cancel(ignored);
  event_.cancel();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  release_request();
  exchange_.reset();
  watching_ = false;
  if (!linger_) stream_->end_writing();
  stream_.reset();
  Failed ignored;
  descriptor_.close(ignored);
  home_->remove(*this);
  core_.leave(peer_.address);
}

}  // namespace hearth::net
