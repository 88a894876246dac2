#include "net/server.h"

#include <algorithm>
#include <future>

#include "net/acceptor.h"
#include "net/connection.h"
#include "net/core.h"
#include "net/io_thread.h"
#include "net/listener.h"

namespace hearth::net {
namespace {

// How often time-outs are looked for: often enough for the shortest of them.
Duration tick(const ServerOptions& options) {
  constexpr Duration kShortest = Duration::millis(10);
  constexpr Duration kLongest = Duration::seconds(1);
  const Duration least = std::min({options.head_time, options.idle_time, options.write_time,
                                   options.body_rate_window, options.write_rate_window});
  return std::clamp(Duration{least.micros / 8}, kShortest, kLongest);
}

class HttpServer final : public Server {
 public:
  HttpServer(std::unique_ptr<Core> core, std::vector<std::unique_ptr<Listener>> listeners)
      : core_(std::move(core)), listeners_(std::move(listeners)) {
    for (int i = 0; i < core_->options.io_threads; ++i)
      threads_.push_back(std::make_shared<IoThread>(tick(core_->options)));
  }

  ~HttpServer() override { stop(Duration{0}); }

  void start() override {
    CHECK(!started_);
    started_ = true;
    core_->pool = std::make_unique<WorkerPool>(core_->options.workers, core_->options.most_queued);
    for (const auto& listener : listeners_) {
      acceptors_.push_back(std::make_shared<Acceptor>(*core_, threads_, *listener));
      acceptors_.back()->start();
    }
    for (const auto& thread : threads_) thread->start();
  }

  void stop(Duration grace) override {
    if (!started_ || stopped_) return;
    stopped_ = true;
    core_->stopping = true;
    run_on(threads_.front(), [this] {
      for (const auto& acceptor : acceptors_) acceptor->stop();
    });
    on_every_connection([](Connection& connection) { connection.stop(); });
    if (!core_->wait_until_empty(grace)) {
      core_->abandoned = true;
      on_every_connection([](Connection& connection) { connection.abandon(); });
      core_->wait_until_empty();
    }
    core_->pool->close();
    for (const auto& thread : threads_) thread->join();
    for (const auto& listener : listeners_) listener->close();
  }

  int port(size_t listener) const override {
    return listener < listeners_.size() ? listeners_[listener]->port() : 0;
  }

  Result<void> reload_certificate() override {
    return core_->tls == nullptr ? Result<void>() : core_->tls->reload();
  }

 private:
  static void run_on(const std::shared_ptr<IoThread>& thread, const std::function<void()>& job) {
    std::promise<void> done;
    thread->post([&] {
      job();
      done.set_value();
    });
    done.get_future().wait();
  }
  void on_every_connection(const std::function<void(Connection&)>& visit) {
    for (const auto& thread : threads_) run_on(thread, [&] { thread->for_each(visit); });
  }

  const std::unique_ptr<Core> core_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::shared_ptr<IoThread>> threads_;
  std::vector<std::shared_ptr<Acceptor>> acceptors_;
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerOptions options, Handler& handler,
                                               Signals& signals) {
  CHECK(options.io_threads >= 1 && options.workers >= 1);
  Networks trusted = TRY(Networks::parse(options.trusted_proxies));
  std::unique_ptr<TlsContext> tls;
  if (options.tls_certificate.empty() != options.tls_key.empty())
    return Error::invalid("a certificate without its key, or a key without its certificate",
                          "give both, or none");
  if (!options.tls_certificate.empty())
    tls = TRY(TlsContext::create(options.tls_certificate, options.tls_key));
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const ServerOptions::Listen& where : options.listen)
    listeners.push_back(TRY(Listener::open(where)));
  auto core = std::make_unique<Core>(std::move(options), handler, signals, std::move(trusted),
                                     std::move(tls));
  return std::unique_ptr<Server>(
      std::make_unique<HttpServer>(std::move(core), std::move(listeners)));
}

}  // namespace hearth::net
