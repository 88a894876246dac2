#include "client/follow.h"

#include <mutex>

#include <gtest/gtest.h>

#include "base/format.h"
#include "net/server.h"
#include "net/sse.h"

namespace hearth::client {
namespace {

// Gives each connection of a stream what the test says; keeps what was asked.
class Handler : public net::Handler {
 public:
  std::vector<std::vector<net::SseEvent>> answers;  // one per connection
  std::vector<std::string> last_ids;
  int status = 200;

  net::BodyRule rule(const net::RequestHead&) override { return {}; }
  net::Response malformed(int code, std::string_view detail, const std::string&) override {
    return net::Response::text(code, "text/plain", std::string(detail));
  }
  net::Response handle(net::Request& request) override {
    const std::lock_guard lock(mutex_);
    if (status != 200)
      return net::Response::text(status, "application/problem+json",
                                 R"({"code":"denied","detail":"you may not","status":403})");
    last_ids.emplace_back(request.headers.get("Last-Event-ID").value_or(""));
    std::string text;
    if (last_ids.size() <= answers.size())
      for (const net::SseEvent& event : answers[last_ids.size() - 1])
        text += net::encode_sse(event);
    return net::Response::text(200, "text/event-stream", text);
  }

 private:
  std::mutex mutex_;
};

class FollowTest : public testing::Test {
 protected:
  void SetUp() override {
    net::ServerOptions options;
    options.listen.push_back({.address = "127.0.0.1"});
    server_ = net::Server::create(options, handler_, signals_).value();
    server_->start();
  }
  Client client() {
    return Client({format("http://127.0.0.1:{}", server_->port()), "", "", "", "", "", ""});
  }
  Result<void> run(int most_tries = 100) {
    Client api = client();
    FollowOptions options;
    options.take = [&](const StreamEvent& event) {
      taken_.push_back(event.data);
      return event.data != "stop";
    };
    options.go_on = [&] { return --most_tries > 0; };
    options.lost = [&](int) { ++lost_; };
    return follow(api, "/stream", {}, options);
  }

  Signals signals_;
  Handler handler_;
  std::unique_ptr<net::Server> server_;
  std::vector<std::string> taken_;
  int lost_ = 0;
};

TEST_F(FollowTest, GoesOnBehindTheLastEventAfterALostConnection) {
  handler_.answers = {
      {{"", "one", "1"}, {"", "two", "2"}}, {}, {{"", "three", "3"}, {"end", "{}", ""}}};
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(taken_, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(handler_.last_ids, (std::vector<std::string>{"", "2", "2"}));
  EXPECT_EQ(lost_, 2);
}

TEST_F(FollowTest, EndsWhenTheTakerHasEnough) {
  handler_.answers = {{{"", "stop", "1"}, {"", "never", "2"}}};
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(taken_, (std::vector<std::string>{"stop"}));
}

TEST_F(FollowTest, AnErrorThatAnotherTryDoesNotChangeIsTold) {
  handler_.status = 403;
  const auto done = run();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::denied);
  EXPECT_EQ(done.error().detail, "you may not");
  EXPECT_EQ(lost_, 0);
}

TEST_F(FollowTest, AServerThatWasNeverThereIsTold) {
  const int port = server_->port();
  server_.reset();
  Client api({format("http://127.0.0.1:{}", port), "", "", "", "", "", ""});
  FollowOptions options;
  options.take = [](const StreamEvent&) { return true; };
  EXPECT_EQ(follow(api, "/stream", {}, options).error().code, Code::unreachable);
}

}  // namespace
}  // namespace hearth::client
