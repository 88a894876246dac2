// One accepted connection: requests in, answers out, one after the other, as coroutines on the
// I/O thread that is its home. Handlers run on workers. While one does, the exchange and the
// stream are the worker's, which also sends a short answer; the home thread then only waits, and
// may note that the connection is to end (aborted_, deadline_, event_).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/byte_stream.h"
#include "net/core.h"
#include "net/io_thread.h"
#include "net/loop.h"
#include "net/request_decoder.h"
#include "net/response_encoder.h"
#include "net/spool.h"

namespace hearth::net {

struct Peer {
  std::optional<Address> address;  // none on a Unix socket
  int uid = -1;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Takes over `socket`, which is non-blocking, and the place that Core::admit gave; not if it
  // throws (the system gives no memory or no more watches).
  Connection(Core& core, std::shared_ptr<IoThread> home, int socket, Peer peer,
             std::unique_ptr<ByteStream> stream);
  ~Connection();

  // All on the home thread.
  void start();
  void look_at_deadline(Time now);
  void stop();     // the server takes no more requests: leave if idle, stop waiting
  void abandon();  // leave at once

 private:
  // One request and its answer. Not there while the connection is idle, which keeps that cheap.
  struct Exchange {
    explicit Exchange(DecoderLimits limits) : decoder(limits) {}
    RequestDecoder decoder;
    BodyRule rule;
    Request request;
    Spool spool;
    Response response;
    std::string id;
    bool head_only = false;
    bool http11 = true;
    bool keep_alive = false;
    int64_t reserved = 0;  // of Core's memory for bodies
    // An answer that its worker sent, or began to: all of it, and how much is written.
    std::string out;
    size_t written = 0;
    bool begun = false, broken = false;
  };
  struct Problem {
    int status;
    std::string detail;
  };
  enum class Phase { idle, head, body, answer };
  enum class Woken { topic, time, stop, gone };
  using Topics = std::vector<std::pair<std::string, uint64_t>>;  // and the version seen

  // connection.cc: the life of a connection.
  static Task<void> live(std::shared_ptr<Connection> self);
  Task<void> run();
  Task<bool> shake_hands();
  Task<bool> read_head();
  Task<bool> serve();
  Task<void> answer_problem();
  Task<void> linger();
  void complete_head();
  void note(int status, std::string detail, Bound bound);
  void note_failure();
  Response malformed(int status, std::string_view detail);
  void close();

  // connection_body.cc: request bodies.
  Task<bool> take_body();
  Task<bool> read_body();
  Task<bool> write_spool();
  Task<bool> skip_body();
  Task<bool> send_continue();
  bool reserve_body();
  bool quick_enough();
  void release_request();

  // connection_answer.cc: handlers, waits and answers.
  Task<void> handle();
  Task<bool> finish_waits();
  Task<bool> send_response();
  Task<bool> send_text(std::string_view text);
  Task<bool> send_file();
  Task<bool> send_file_pieces(int file, FileBody body);
  Task<bool> send_stream();
  Task<bool> send_pieces(StreamBody& stream);
  void call_handler();
  void handle_on_worker();
  void answer_at_once();  // on a worker
  Task<bool> end_answer();
  void settle_answer();
  std::string begin_text(std::string_view& text);
  Framing framing();
  int open_file(const FileBody& body, std::string& why);

  // connection_io.cc: bytes, waiting, workers.
  Task<size_t> read_some();
  Task<bool> write_all(std::string_view data, MoreFollows more);
  Task<bool> ready(IoStatus wanted);
  Task<bool> room(IoStatus wanted);
  Task<void> give_way();
  Task<void> on_worker(std::function<void()> work);
  Task<void> job_end();
  Task<Woken> wait_for(const Topics& topics, Duration limit);
  bool write_now(std::string_view& data, MoreFollows more);
  void job_ended();
  void wake(uint64_t generation);
  void watch();
  void arm_watch();
  void read_ahead();
  bool holds_input() const { return input_at_ < input_.size(); }
  void decode_held();
  void decode_fresh(size_t bytes);
  void set_deadline(Duration limit);
  void clear_deadline();

  Core& core_;
  const std::shared_ptr<IoThread> home_;
  std::unique_ptr<ByteStream> stream_;
  Timer event_;  // its expiry is a limit, its cancellation says "look again"
  const Peer peer_;
  const std::string peer_text_;
  Descriptor descriptor_;  // the last that can fail: until then the socket is the caller's
  std::unique_ptr<Exchange> exchange_;
  std::optional<Problem> problem_;
  std::string input_;  // read, but not decoded yet: what is pipelined
  size_t input_at_ = 0;
  Phase phase_ = Phase::idle;
  Time deadline_{INT64_MAX};
  Time window_start_;         // of the body's rate
  int64_t window_bytes_ = 0;  // decoded when it began
  Duration waited_;           // for the client to read, in this window of the answers' rate
  int64_t taken_ = 0;         // by the client since it began
  uint64_t generation_ = 0;   // of the wait; a wake-up of an earlier one is void
  int reads_in_a_row_ = 0;
  bool expired_ = false;  // the deadline has passed
  bool aborted_ = false;  // leave without waiting for anything
  bool job_done_ = false;
  bool job_threw_ = false;
  bool woken_ = false;
  bool gone_ = false;  // the client left while we waited
  bool watching_ = false;
  bool watch_armed_ = false;
  bool linger_ = false;  // the client may still be sending: do not reset its connection
  bool closed_ = false;
};

}  // namespace hearth::net
