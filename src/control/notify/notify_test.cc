#include "control/notify/notify.h"

#include <cmath>
#include <condition_variable>
#include <mutex>

#include "control/notify/address.h"
#include "control/notify/payload.h"
#include "control/notify/signature.h"
#include "control/small_world_test.h"
#include "db/tables.h"
#include "net/server_test.h"

namespace hearth::control {
namespace {

TEST(Signature, TheStandardsOwnExample) {
  EXPECT_EQ(
      webhook_signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
                        1614265330, R"({"test": 2432232314})"),
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_NE(webhook_signature("raw secret", "a", 1, "b"), webhook_signature("other", "a", 1, "b"));
}

TEST(Address, NearOnesAreRefused) {
  for (const auto* address : {"127.0.0.1",
                              "127.8.9.1",
                              "0.0.0.0",
                              "0.1.2.3",
                              "169.254.169.254",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::1",
                              "::",
                              "fe80::1",
                              "fe80::1%eth0",
                              "[::1]",
                              "ff02::1",
                              "::ffff:127.0.0.1",
                              "::ffff:169.254.1.1",
                              "64:ff9b::127.0.0.1",
                              "2002:7f00:1::",
                              "fd00:ec2::254",
                              "a local socket",
                              ""})
    EXPECT_NE(refuse_near_address(address), "") << address;
  for (const auto* address :
       {"8.8.8.8", "10.250.250.1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"})
    EXPECT_EQ(refuse_near_address(address), "") << address;
}

// A receiver that answers what it is told to and keeps what came.
class NotifyTest : public testing::Test {
 protected:
  NotifyTest() {
    receiver.on_request = [this](net::Request& request) {
      std::unique_lock lock(mutex);
      came.push_back({std::string(request.headers.get("webhook-id").value_or("")),
                      std::string(request.headers.get("webhook-timestamp").value_or("")),
                      std::string(request.headers.get("webhook-signature").value_or("")),
                      request.body});
      news.notify_all();
      news.wait(lock, [this] { return !hangs; });
      net::Response response = net::Response::text(status, "text/plain", "thanks");
      if (status == 302) response.headers.set("Location", "/elsewhere");
      return response;
    };
    net::ServerOptions options;
    options.listen.push_back({.address = "127.0.0.1"});
    server = need(net::Server::create(options, receiver, server_signals));
    server->start();
    url = format("http://127.0.0.1:{}/hook", server->port());
  }

  std::string queue(JobState state, const std::string& secret = "", std::string to = "") {
    Job job;
    job.id = new_id();
    job.name = "cnn-1";
    job.project = "default";
    job.state = state;
    job.spec.notify = {
        {.when = {JobState::failed}, .webhook = to.empty() ? url : to, .secret = secret}};
    world.write([&](db::Session& session) {
      return queue_deliveries(session, job, {.time = world.clock.now()}, world.clock,
                              system_random());
    });
    world.signals.notify(kOutboxTopic);
    return job.id;
  }
  Delivery row() {
    std::vector<Delivery> all;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      all = TRY(db::Table<Delivery>::select(session, "ORDER BY id", {}));
      return {};
    }));
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Delivery{} : all[0];
  }
  // Waits until the row says so.
  template <typename Predicate>
  Delivery wait_for(Predicate predicate) {
    for (int i = 0; i < 2000; ++i) {
      Delivery delivery = row();
      if (predicate(delivery)) return delivery;
      const uint64_t seen = world.signals.version(kEventsTopic);
      world.signals.wait_for(kEventsTopic, seen, 10'000);
    }
    ADD_FAILURE() << "it did not happen: " << to_json(row());
    return row();
  }
  void set_status(int value) {
    const std::lock_guard lock(mutex);
    status = value;
  }
  void set_hangs(bool value) {
    const std::lock_guard lock(mutex);
    hangs = value;
    news.notify_all();
  }
  struct Came {
    std::string id, timestamp, signature, body;
  };
  std::vector<Came> what_came() {
    const std::lock_guard lock(mutex);
    return came;
  }
  size_t came_count() { return what_came().size(); }

  SmallWorld world;
  Signals server_signals;
  std::mutex mutex;
  std::condition_variable news;
  std::vector<Came> came;
  int status = 200;
  bool hangs = false;  // the receiver keeps a request without answering
  net::TestHandler receiver;
  std::unique_ptr<net::Server> server;
  std::string url;
};

TEST_F(NotifyTest, OnlyAskedStatesAreQueued) {
  queue(JobState::running);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM deliveries"), 0);
  queue(JobState::failed);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM deliveries"), 1);
  EXPECT_EQ(row().event_kind, "job.failed");
}

TEST_F(NotifyTest, IsSentAndSigned) {
  need(world.access->set_secret(world.admin, "default", "HOOK", "a raw secret"));
  Notify notify(world.context(), *world.access, {.allow_local = true});
  notify.start();
  const std::string job_id = queue(JobState::failed, "HOOK");
  const Delivery sent =
      wait_for([](const Delivery& d) { return d.state == DeliveryState::delivered; });
  notify.stop();
  EXPECT_EQ(sent.tries, 1);
  EXPECT_EQ(sent.last_status, 200);
  EXPECT_EQ(world.last_event(), "webhook.delivered");
  const std::vector<Came> all = what_came();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, sent.id);
  EXPECT_EQ(all[0].signature,
            webhook_signature("a raw secret", sent.id, std::stoll(all[0].timestamp), all[0].body));
  const auto body = need(from_json<WebhookBody>(all[0].body));
  EXPECT_EQ(body.type, "job.failed");
  EXPECT_EQ(body.data.id, job_id);
}

TEST_F(NotifyTest, IsTriedAgainLaterAndLater) {
  set_status(500);
  Notify notify(world.context(), *world.access, {.allow_local = true});
  notify.start();
  queue(JobState::failed);
  double before = 0;
  for (int64_t tries = 1; tries < 12; ++tries) {
    const Delivery waiting = wait_for([&](const Delivery& d) { return d.tries == tries; });
    EXPECT_EQ(waiting.last_error, "answered 500");
    const double wait = (waiting.next_try_at - world.clock.now()).seconds();
    EXPECT_GE(wait, std::min(4.0 * std::pow(2, tries - 1), 0.8 * 3600) - 0.01);
    EXPECT_LE(wait, 1.21 * 3600);
    EXPECT_GT(wait * 1.6, before);
    before = wait;
    world.clock.advance(waiting.next_try_at - world.clock.now());
    world.signals.notify(kOutboxTopic);
  }
  const Delivery failed =
      wait_for([](const Delivery& d) { return d.state == DeliveryState::failed; });
  EXPECT_EQ(failed.tries, 12);
  EXPECT_EQ(came_count(), 12U);
  EXPECT_EQ(world.last_event(), "webhook.failed");
}

TEST_F(NotifyTest, AClockThatIsSetBackHoldsNothingUp) {
  set_status(500);
  Notify notify(world.context(), *world.access, {.allow_local = true});
  notify.start();
  queue(JobState::failed);
  wait_for([](const Delivery& d) { return d.tries == 1; });
  set_status(200);
  world.clock.advance(Duration::seconds(-365 * 86400.0));
  world.signals.notify(kOutboxTopic);
  wait_for([](const Delivery& d) { return d.state == DeliveryState::delivered; });
}

TEST_F(NotifyTest, GoneIsFinalAndRedirectsAreNotFollowed) {
  set_status(302);
  Notify notify(world.context(), *world.access, {.allow_local = true});
  notify.start();
  queue(JobState::failed);
  const Delivery redirected = wait_for([](const Delivery& d) { return d.tries == 1; });
  EXPECT_EQ(redirected.state, DeliveryState::waiting);
  EXPECT_EQ(redirected.last_error, "answered 302: redirects are not followed");
  set_status(410);
  world.clock.advance(Duration::seconds(7));
  world.signals.notify(kOutboxTopic);
  const Delivery gone = wait_for([](const Delivery& d) { return d.tries == 2; });
  EXPECT_EQ(gone.state, DeliveryState::failed);
  EXPECT_EQ(came_count(), 2U);
}

TEST_F(NotifyTest, GoesNowhereNear) {
  Notify notify(world.context(), *world.access, {});
  notify.start();
  queue(JobState::failed, "", format("http://localhost:{}/", server->port()));
  const Delivery refused =
      wait_for([](const Delivery& d) { return d.state == DeliveryState::failed; });
  EXPECT_EQ(came_count(), 0U);
  EXPECT_NE(refused.last_error.find("webhooks do not go there"), std::string::npos);
}

TEST_F(NotifyTest, AMissingSecretIsSaid) {
  Notify notify(world.context(), *world.access, {.allow_local = true});
  notify.start();
  queue(JobState::failed, "NONE");
  const Delivery waiting = wait_for([](const Delivery& d) { return d.tries == 1; });
  EXPECT_NE(waiting.last_error.find("NONE"), std::string::npos) << waiting.last_error;
  EXPECT_EQ(came_count(), 0U);
}

TEST_F(NotifyTest, WhatWasCutOffIsSentAgain) {
  // The first server dies while the receiver has the request but has not answered.
  set_hangs(true);
  auto first =
      std::make_unique<Notify>(world.context(), *world.access, NotifyOptions{.allow_local = true});
  first->start();
  queue(JobState::failed);
  {
    std::unique_lock lock(mutex);
    news.wait(lock, [&] { return came.size() == 1; });
  }
  first.reset();
  EXPECT_EQ(row().state, DeliveryState::waiting);
  set_hangs(false);
  Notify second(world.context(), *world.access, {.allow_local = true});
  second.start();
  const Delivery sent =
      wait_for([](const Delivery& d) { return d.state == DeliveryState::delivered; });
  const std::vector<Came> all = what_came();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, all[1].id) << "the receiver can tell that it is the same";
  EXPECT_EQ(sent.tries, 1);
}

TEST_F(NotifyTest, SwitchedOffSendsNothing) {
  Notify notify(world.context(), *world.access, {.enabled = false, .allow_local = true});
  notify.start();
  queue(JobState::failed);
  EXPECT_EQ(row().tries, 0);
}

}  // namespace
}  // namespace hearth::control
