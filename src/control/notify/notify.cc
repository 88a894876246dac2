// The senders: each takes a row that is due, posts it, and writes down how it went. A row is only
// marked after the answer, so a server that dies in between sends again: at least once.
#include "control/notify/notify.h"

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/metrics.h"
#include "control/access/access.h"
#include "control/emit.h"
#include "control/notify/address.h"
#include "control/notify/signature.h"
#include "net/client.h"

namespace hearth::control {
namespace {

// Named bounds.
constexpr int kSenders = 4;
constexpr int kMostToOneHost = 2;  // at once: one that hangs does not hold up the others
constexpr int64_t kMostTries = 12;
constexpr Duration kFirstBackOff = Duration::seconds(5);
constexpr Duration kLongestBackOff = Duration::seconds(3600);
constexpr Duration kLongestTry = Duration::seconds(10);
constexpr Duration kLookAgain = Duration::seconds(1);
constexpr int64_t kMostAnswerBytes = 64 << 10;
constexpr int64_t kRowsAtOnce = 64;
constexpr size_t kLongestError = 500;

// "scheme://host:port" of a URL.
std::string host_of(const std::string& url) {
  const size_t scheme = url.find("://");
  return url.substr(0, url.find_first_of("/?#", scheme == std::string::npos ? 0 : scheme + 3));
}

struct Try {
  bool delivered = false;
  bool final = false;  // no further try is worth it
  int status = 0;
  std::string error;
  Duration wait{0};  // asked for by the other side
};

Duration retry_after(const net::Answer& answer) {
  const std::string_view text = answer.headers.get("Retry-After").value_or("");
  int64_t seconds = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failure != std::errc() || end != text.data() + text.size() || seconds < 0) return {};
  return std::min(Duration::seconds(static_cast<double>(seconds)), kLongestBackOff);
}

// 5 s, 10 s, 20 s ... 1 h, spread by a fifth to either side.
Duration back_off(int64_t tries, double unit) {
  double seconds = kFirstBackOff.seconds();
  for (int64_t i = 1; i < tries && seconds < kLongestBackOff.seconds(); ++i) seconds *= 2;
  return Duration::seconds(std::min(seconds, kLongestBackOff.seconds()) * (0.8 + 0.4 * unit));
}

}  // namespace

struct Notify::State {
  State(Context c, Access& a, NotifyOptions o) : context(c), access(a), options(o) {}

  void run() {
    net::Client client;
    {
      const std::lock_guard lock(mutex);
      clients.insert(&client);
    }
    while (!stopping) {
      const uint64_t version = context.signals.version(kOutboxTopic);
      const auto delivery = claim();
      if (!delivery.ok() || !*delivery) {
        if (!delivery.ok()) log_warning("webhooks: {}", delivery.error().text());
        context.signals.wait_for(kOutboxTopic, version, kLookAgain.micros);
        continue;
      }
      const Try result = send(client, **delivery);
      if (stopping && !result.delivered) {  // its try was cut off; it is made again
        release(**delivery);
        break;
      }
      const auto written = write_down(**delivery, result);
      if (!written.ok()) {
        log_warning("webhook {}: {}", (*delivery)->id, written.error().text());
        context.signals.wait_for(kOutboxTopic, version, kLookAgain.micros);
      }
      release(**delivery);
    }
    const std::lock_guard lock(mutex);
    clients.erase(&client);
  }

  // The next row that is due and that no sender of ours has.
  Result<std::optional<Delivery>> claim() {
    std::vector<Delivery> due;
    TRY(context.database.read([&](db::Session& session) -> Result<void> {
      due = TRY(db::Table<Delivery>::select(
          session,
          "WHERE state = 'waiting' AND (next_try_at <= $1 OR next_try_at > $3) ORDER BY "
          "next_try_at, id LIMIT $2",
          {context.clock.now().micros, kRowsAtOnce, latest().micros}));
      return {};
    }));
    for (Delivery& delivery : due) {
      if (!take(delivery)) continue;
      // Another sender may have sent it and let it go between our look and now.
      if (still_due(delivery.id)) return std::optional(std::move(delivery));
      release(delivery);
    }
    return std::optional<Delivery>();
  }
  // No wait is longer: a later time was written before the clock was set back.
  Time latest() { return context.clock.now() + kLongestBackOff + kLongestBackOff; }
  bool take(const Delivery& delivery) {
    const std::lock_guard lock(mutex);
    int& at_host = by_host[host_of(delivery.url)];
    if (at_host >= kMostToOneHost || !taken.insert(delivery.id).second) return false;
    ++at_host;
    return true;
  }
  bool still_due(const std::string& id) {
    bool due = false;
    const auto done = context.database.read([&](db::Session& session) -> Result<void> {
      const auto row = TRY(db::Table<Delivery>::get(session, id));
      due = row && row->state == DeliveryState::waiting &&
            (row->next_try_at <= context.clock.now() || row->next_try_at > latest());
      return {};
    });
    if (!done.ok()) log_warning("webhooks: {}", done.error().text());
    return due;
  }
  void release(const Delivery& delivery) {
    const std::lock_guard lock(mutex);
    taken.erase(delivery.id);
    const auto host = by_host.find(host_of(delivery.url));
    if (host != by_host.end() && --host->second <= 0) by_host.erase(host);
  }

  Result<std::string> open_secret(const Delivery& delivery) {
    std::string value;
    TRY(context.database.read([&](db::Session& session) -> Result<void> {
      value = TRY(access.open_secrets(session, delivery.project, {delivery.secret}))
                  .at(delivery.secret);
      return {};
    }));
    return value;
  }

  Try send(net::Client& client, const Delivery& delivery) {
    net::ClientRequest request;
    request.method = "POST";
    request.url = delivery.url;
    request.body = delivery.body.text;
    request.total_time = kLongestTry;
    request.most_answer_bytes = kMostAnswerBytes;
    if (!options.allow_local) request.refuse_address = refuse_near_address;
    const int64_t timestamp = context.clock.now().micros / 1'000'000;
    request.headers.set("Content-Type", "application/json");
    request.headers.set("User-Agent", "hearth-webhooks/1");
    request.headers.set("webhook-id", delivery.id);
    request.headers.set("webhook-timestamp", std::to_string(timestamp));
    if (!delivery.secret.empty()) {
      const auto secret = open_secret(delivery);
      if (!secret.ok()) return {.error = secret.error().text()};
      request.headers.set("webhook-signature",
                          webhook_signature(*secret, delivery.id, timestamp, request.body));
    }
    const auto answer = client.send(request);
    if (!answer.ok()) {
      // An answer that is too long is an answer all the same, but its status is lost.
      const bool refused = answer.error().code == Code::denied;
      return {.final = refused, .error = answer.error().text()};
    }
    Try result{.status = answer->status, .wait = retry_after(*answer)};
    result.delivered = answer->status >= 200 && answer->status < 300;
    result.final = answer->status == 410;  // the standard's word for "never again"
    if (!result.delivered)
      result.error = answer->status >= 300 && answer->status < 400
                         ? format("answered {}: redirects are not followed", answer->status)
                         : format("answered {}", answer->status);
    return result;
  }

  Result<void> write_down(const Delivery& sent, const Try& result) {
    std::array<std::byte, 8> random{};
    context.random.fill(random);
    const double unit = static_cast<double>(std::to_integer<int>(random[0])) / 255;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      auto delivery = TRY(db::Table<Delivery>::get(session, sent.id));
      if (!delivery || delivery->state != DeliveryState::waiting) return {};
      const Time now = context.clock.now();
      ++delivery->tries;
      delivery->last_status = result.status;
      delivery->last_error = to_utf8_lossy(result.error.substr(0, kLongestError));
      const bool given_up = !result.delivered && (result.final || delivery->tries >= kMostTries);
      if (result.delivered || given_up) {
        delivery->state = result.delivered ? DeliveryState::delivered : DeliveryState::failed;
        delivery->finished_at = now;
      } else {
        delivery->next_try_at = now + std::max(back_off(delivery->tries, unit), result.wait);
      }
      TRY(db::Table<Delivery>::update(session, *delivery));
      if (delivery->state == DeliveryState::waiting) return {};
      TRY(emit(session, context.clock, server_actor(), delivery->project,
               result.delivered ? "webhook.delivered" : "webhook.failed", delivery->id,
               delivery->version,
               format(R"({{"job_id":{},"status":{},"error":{}}})", json_quote(delivery->job_id),
                      result.status, json_quote(delivery->last_error))));
      return {};
    }));
    metrics().counter("hearth_control_webhook_tries_total", "Webhook calls made").add();
    if (!result.delivered)
      metrics().counter("hearth_control_webhook_failures_total", "Webhook calls that failed").add();
    context.signals.notify(kEventsTopic);
    return {};
  }

  Context context;
  Access& access;
  const NotifyOptions options;
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;
  std::mutex mutex;  // guards the rest
  std::set<std::string> taken;
  std::map<std::string, int> by_host;
  std::set<net::Client*> clients;
};

Notify::Notify(Context context, Access& access, NotifyOptions options)
    : state_(std::make_unique<State>(context, access, options)) {}
Notify::~Notify() {
  stop();
}

void Notify::start() {
  if (!state_->options.enabled || !state_->threads.empty()) return;
  state_->stopping = false;
  for (int i = 0; i < kSenders; ++i) state_->threads.emplace_back([this] { state_->run(); });
}

void Notify::stop() {
  state_->stopping = true;
  {
    const std::lock_guard lock(state_->mutex);
    for (net::Client* client : state_->clients) client->cancel();
  }
  state_->context.signals.notify(kOutboxTopic);
  for (std::thread& thread : state_->threads) thread.join();
  state_->threads.clear();
}

}  // namespace hearth::control
