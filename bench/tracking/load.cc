// Tracking calls over bare sockets, so cheap that what is measured is the server.
//
//   tracking_load PORT SECONDS WARMUP KIND POINTS FIRST WANTED < CONNECTIONS
//
// KIND: metric, batch (of POINTS points of ten keys) or create. Each line of CONNECTIONS is one
// connection: the path, the run, tokens by turns. Steps count on from FIRST, so that no point is
// sent twice. WANTED: the status that each answer has; with a minus in front others are counted as
// failed, else the first of them ends it all. One thread sends bodies that were made before, with
// new steps put in. Prints one JSON object: calls that were answered within SECONDS after WARMUP.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr size_t kStepDigits = 9;  // 100,000,000 and up
constexpr int64_t kFirstStep = 100'000'000;
constexpr int kSendBuffer = 1 << 20;  // a whole body, so that a send is one call
constexpr int kWaitMillis = 1000;
constexpr double kMostDrainSeconds = 120;  // for answers that are under way at the end

using Clock = std::chrono::steady_clock;
double now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(std::string_view what) {
  std::cerr << "tracking_load: " << what << std::endl;
  std::_Exit(1);
}

template <typename T>
T number(std::string_view text) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    fail("not a number: " + std::string(text));
  return value;
}

// The same series everywhere: splitmix64, as a double from 0 to 1.
double random_value(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

void put_step(char* to, int64_t step) {
  for (size_t i = kStepDigits; i-- > 0; step /= 10) to[i] = static_cast<char>('0' + step % 10);
}

struct Body {
  std::string text;
  std::vector<size_t> steps;  // where they stand
};

void add_point(Body& body, size_t index, uint64_t& state) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), random_value(state));
  body.text += "\"key\": \"m" + std::to_string(index % 10) + "\", \"value\": ";
  body.text.append(digits.data(), end.ptr);
  body.text += ", \"timestamp\": 1700000000000, \"step\": ";
  body.steps.push_back(body.text.size());
  body.text.append(kStepDigits, '0');
}

Body make_body(std::string_view kind, size_t points, const std::string& run, uint64_t seed) {
  Body body;
  uint64_t state = seed;
  if (kind == "create") {
    body.text = R"({"experiment_id": "0", "start_time": 1700000000000})";
  } else if (kind == "metric") {
    body.text = "{\"run_id\": \"" + run + "\", ";
    add_point(body, 0, state);
    body.text += "}";
  } else if (kind == "batch") {
    body.text = "{\"run_id\": \"" + run + "\", \"metrics\": [";
    for (size_t i = 0; i < points; ++i) {
      body.text += i == 0 ? "{" : ", {";
      add_point(body, i, state);
      body.text += "}";
    }
    body.text += "]}";
  } else {
    fail("unknown kind of call");
  }
  return body;
}

struct Tally {
  double begin = 0, end = 0;
  bool lenient = false;
  int wanted = 200;
  int64_t failed = 0;
  std::string first_failure;
  std::vector<double> seconds;  // of each call that counts
};

class Connection {
 public:
  Connection(uint16_t port, const std::string& line, std::string_view kind, size_t points,
             int64_t& step, uint64_t seed)
      : port_(port), step_(step) {
    std::istringstream words(line);
    std::string path, run, token;
    words >> path >> run;
    Body body = make_body(kind, points, run, seed);
    steps_ = std::move(body.steps);
    text_ = std::move(body.text);
    std::vector<std::string> tokens;
    while (words >> token) tokens.push_back("Authorization: Bearer " + token + "\r\n");
    if (tokens.empty()) tokens.emplace_back();
    for (const std::string& authorization : tokens)
      heads_.push_back("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                       "\r\nContent-Type: application/json\r\n" + authorization +
                       "Content-Length: " + std::to_string(text_.size()) + "\r\n\r\n");
    connect();
  }
  Connection(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  int socket() const { return socket_; }
  bool waits_to_send() const { return !unsent_[0].empty() || !unsent_[1].empty(); }
  bool idle() const { return idle_; }
  double since() const { return started_; }

  // The next call is made ready while the server works at this one: a client's own work is not the
  // server's time.
  void start() {
    idle_ = false;
    prepare();
    prepared_ = false;
    unsent_ = {*head_, text_};
    answer_.clear();
    started_ = now();
    send();
  }
  // Not before the kernel has taken the last body.
  void prepare() {
    if (std::exchange(prepared_, true)) return;
    head_ = &heads_[turn_++ % heads_.size()];
    for (const size_t at : steps_) put_step(text_.data() + at, step_++);
  }
  void send() {
    while (waits_to_send()) {
      std::array<iovec, 2> parts{};
      for (size_t i = 0; i < parts.size(); ++i)
        parts[i] = {const_cast<char*>(unsent_[i].data()), unsent_[i].size()};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      const ssize_t n = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0) fail("the server has closed the connection");
      const size_t of_head = std::min(unsent_[0].size(), static_cast<size_t>(n));
      unsent_[0].remove_prefix(of_head);
      unsent_[1].remove_prefix(static_cast<size_t>(n) - of_head);
    }
  }
  // The status of a whole answer; 0: there is more to come.
  int receive(bool wait) {
    std::array<char, 16384> buffer;
    const ssize_t n = ::recv(socket_, buffer.data(), buffer.size(), wait ? 0 : MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n <= 0) fail("the server has closed the connection");
    answer_.append(buffer.data(), static_cast<size_t>(n));
    const size_t head = answer_.find("\r\n\r\n");
    if (head == std::string::npos) return 0;
    std::string lower = answer_.substr(0, head + 2);
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    constexpr std::string_view kLength = "\r\ncontent-length:";
    const size_t at = lower.find(kLength);
    if (at == std::string::npos) fail("an answer without Content-Length");
    const size_t digits = lower.find_first_not_of(' ', at + kLength.size());
    const auto length =
        number<size_t>(std::string_view(lower).substr(digits, lower.find('\r', digits) - digits));
    if (answer_.size() < head + 4 + length) return 0;
    idle_ = true;
    return number<int>(std::string_view(answer_).substr(9, 3));
  }
  const std::string& answer() const { return answer_; }

 private:
  void connect() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int one = 1, bytes = kSendBuffer;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      fail("nobody listens on the port");
  }

  const uint16_t port_;
  int64_t& step_;
  int socket_ = -1;
  std::string text_;
  std::vector<size_t> steps_;
  std::vector<std::string> heads_;
  size_t turn_ = 0;
  const std::string* head_ = nullptr;       // of the next call
  bool prepared_ = false;                   // it stands ready
  std::array<std::string_view, 2> unsent_;  // of head and body
  std::string answer_;
  bool idle_ = true;
  double started_ = 0;
};

void note(Tally& tally, const Connection& connection, int status) {
  const double ended = now();
  if (status != tally.wanted) {
    if (tally.first_failure.empty()) tally.first_failure = connection.answer().substr(0, 400);
    if (!tally.lenient) fail("not what was wanted: " + tally.first_failure);
    ++tally.failed;
  } else if (ended >= tally.begin && ended <= tally.end) {
    tally.seconds.push_back(ended - connection.since());
  }
}

// One that waits for its own answer needs nobody to wake it.
void run_one(Connection& connection, Tally& tally) {
  while (now() < tally.end) {
    connection.start();
    int status = 0;
    while (status == 0) {
      while (connection.waits_to_send()) connection.send();
      connection.prepare();
      status = connection.receive(true);
    }
    note(tally, connection, status);
  }
}

void run_many(std::vector<std::unique_ptr<Connection>>& connections, Tally& tally) {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<bool> sending(connections.size(), false);
  const auto listen = [&](size_t i, int how) {
    epoll_event event{};
    const bool wants = connections[i]->waits_to_send();
    if (how == EPOLL_CTL_MOD && wants == sending[i]) return;
    sending[i] = wants;
    event.events = wants ? EPOLLOUT : EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(poll, how, connections[i]->socket(), &event);
  };
  size_t open = connections.size();
  for (size_t i = 0; i < connections.size(); ++i) {
    connections[i]->start();
    listen(i, EPOLL_CTL_ADD);
  }
  std::vector<epoll_event> events(connections.size());
  while (open > 0 && now() < tally.end + kMostDrainSeconds) {
    const int n = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), kWaitMillis);
    for (int e = 0; e < n; ++e) {
      const auto i = static_cast<size_t>(events[static_cast<size_t>(e)].data.u64);
      Connection& connection = *connections[i];
      if (connection.waits_to_send()) {
        connection.send();
      } else if (const int status = connection.receive(false); status != 0) {
        note(tally, connection, status);
        if (now() < tally.end)
          connection.start();
        else
          --open;
      }
      listen(i, EPOLL_CTL_MOD);
      if (!connection.idle() && !connection.waits_to_send()) connection.prepare();
    }
  }
  ::close(poll);
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double part(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[at] * 1000;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() != 7) fail("PORT SECONDS WARMUP KIND POINTS FIRST WANTED < CONNECTIONS");
  Tally tally;
  tally.lenient = words[6].starts_with('-');
  tally.wanted = std::abs(number<int>(words[6]));
  int64_t step = kFirstStep + number<int64_t>(words[5]);
  std::vector<std::unique_ptr<Connection>> connections;
  for (std::string line; std::getline(std::cin, line);)
    connections.push_back(std::make_unique<Connection>(number<uint16_t>(words[0]), line, words[3],
                                                       number<size_t>(words[4]), step,
                                                       connections.size() + 1));
  if (connections.empty()) fail("no connections");
  const double seconds = number<double>(words[1]);
  tally.begin = now() + number<double>(words[2]);
  tally.end = tally.begin + seconds;
  if (connections.size() == 1)
    run_one(*connections.front(), tally);
  else
    run_many(connections, tally);
  std::ranges::sort(tally.seconds);
  std::cout << "{\"calls\": " << tally.seconds.size() << ", \"seconds\": " << seconds
            << ", \"failed\": " << tally.failed << ", \"p50_ms\": " << part(tally.seconds, 0.5)
            << ", \"p99_ms\": " << part(tally.seconds, 0.99)
            << ", \"cpu_seconds\": " << cpu_seconds() << ", \"next\": " << step - kFirstStep << "}"
            << std::endl;
  if (!tally.first_failure.empty()) std::cerr << tally.first_failure << std::endl;
  return 0;
}
