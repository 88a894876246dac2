// Requests that wait, streams, and the end of the server.
#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "net/server_test.h"
#include "net/sse.h"

namespace hearth::net {
namespace {

// Calls `drop` when the last copy goes.
std::shared_ptr<void> sentinel(std::function<void()> drop) {
  return {nullptr, [drop = std::move(drop)](void*) { drop(); }};
}

Response wait_response(Signals& signals, const std::string& topic, Duration limit,
                       std::function<Response()> then) {
  Wait wait;
  wait.topic = topic;
  wait.since = signals.version(topic);
  wait.wait = limit;
  wait.then = std::move(then);
  Response response;
  response.body = std::move(wait);
  return response;
}

struct WaitingServer : TestServer {
  explicit WaitingServer(ServerOptions the_options = {}) : TestServer(std::move(the_options)) {
    handler.on_request = [this](Request& request) {
      if (request.path == "/plain") return Response::text(200, "text/plain", "plain");
      ++waiting;
      const auto gone = sentinel([this] { --waiting; });
      const Duration limit =
          request.path == "/short" ? Duration::millis(50) : Duration::seconds(60);
      return wait_response(signals, "topic", limit, [this, gone] {
        ++called;
        return Response::text(200, "text/plain", "waited");
      });
    };
  }
  std::atomic<int> waiting = 0, called = 0;
};

TEST(ServerWait, ANotifyEndsAWait) {
  WaitingServer test;
  test.start();
  RawClient client(test.port());
  client.get("/");
  ASSERT_TRUE(eventually([&] { return test.waiting == 1; }));
  EXPECT_FALSE(client.receive(Duration::millis(50)));
  test.signals.notify("other");
  EXPECT_FALSE(client.receive(Duration::millis(50)));
  test.signals.notify("topic");
  EXPECT_EQ(client.answer().body, "waited");
  EXPECT_EQ(test.called, 1);
  EXPECT_TRUE(eventually([&] { return test.waiting == 0; }));
  client.get("/plain");
  EXPECT_EQ(client.answer().body, "plain");
}

TEST(ServerWait, ANotifyBeforeTheWaitIsNotLost) {
  TestServer test;
  test.handler.on_request = [&](Request&) {
    Response response = wait_response(test.signals, "topic", Duration::seconds(60),
                                      [] { return Response::text(200, "text/plain", "waited"); });
    test.signals.notify("topic");
    return response;
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_EQ(client.answer().body, "waited");
}

TEST(ServerWait, TheEndOfTheTimeEndsAWait) {
  WaitingServer test;
  test.start();
  RawClient client(test.port());
  client.get("/short");
  EXPECT_EQ(client.answer().body, "waited");
}

TEST(ServerWait, AWaitMayAnswerWithAnother) {
  TestServer test;
  std::atomic<int> rounds = 0;
  std::function<Response()> again = [&] {
    if (++rounds == 3) return Response::text(200, "text/plain", "three");
    return wait_response(test.signals, "topic", Duration::seconds(60), again);
  };
  test.handler.on_request = [&](Request&) {
    return wait_response(test.signals, "topic", Duration::seconds(60), again);
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_TRUE(eventually([&] {
    test.signals.notify("topic");
    return rounds == 3;
  }));
  EXPECT_EQ(client.answer().body, "three");
}

TEST(ServerWait, AClientThatLeavesIsDropped) {
  WaitingServer test;
  test.start();
  {
    RawClient client(test.port());
    client.get("/");
    ASSERT_TRUE(eventually([&] { return test.waiting == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return test.waiting == 0; }));
  EXPECT_EQ(test.called, 0);
}

TEST(ServerWait, WhatIsPipelinedBehindAWaitIsAnsweredAfterIt) {
  WaitingServer test;
  test.start();
  RawClient client(test.port());
  client.get("/");
  client.get("/plain");
  ASSERT_TRUE(eventually([&] { return test.waiting == 1; }));
  client.get("/plain");
  EXPECT_FALSE(client.receive(Duration::millis(50)));
  test.signals.notify("topic");
  EXPECT_EQ(client.answer().body, "waited");
  EXPECT_EQ(client.answer().body, "plain");
  EXPECT_EQ(client.answer().body, "plain");
}

TEST(ServerWait, AFloodBehindAWaitIsBounded) {
  WaitingServer test;
  test.start();
  RawClient client(test.port());
  client.get("/");
  ASSERT_TRUE(eventually([&] { return test.waiting == 1; }));
  std::thread flood([&] {
    for (int i = 0; i < 3'000; ++i) client.get("/plain");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  test.signals.notify("topic");
  EXPECT_EQ(client.answer().body, "waited");
  int plain = 0;
  for (int i = 0; i < 3'000; ++i) plain += client.answer().body == "plain" ? 1 : 0;
  EXPECT_EQ(plain, 3'000);
  flood.join();
}

TEST(ServerWait, ManyWaitWithoutHoldingWorkers) {
  ServerOptions options;
  options.workers = 1;
  options.most_queued = 400;
  WaitingServer test(options);
  test.start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.emplace_back(test.port());
    clients.back().get("/");
  }
  ASSERT_TRUE(eventually([&] { return test.waiting == 300; }));
  RawClient other(test.port());
  other.get("/plain");
  EXPECT_EQ(other.answer().body, "plain");
  test.signals.notify("topic");
  for (RawClient& client : clients) EXPECT_EQ(client.answer().body, "waited");
}

TEST(ServerWait, ABodyIsLetGoBeforeTheWait) {
  ServerOptions options;
  options.most_body_memory = 1'000;
  WaitingServer test(options);
  test.start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(test.port());
    clients.back().send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n" +
                        std::string(900, 'x'));
    ASSERT_TRUE(eventually([&] { return test.waiting == i + 1; }));
    // It is let go a moment later; the next would be refused until then.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

TEST(ServerStream, SendsPiecesAsTheyCome) {
  TestServer test;
  std::atomic<int> available = 2;
  std::atomic<int> calls = 0;
  test.handler.on_request = [&](Request&) {
    StreamBody stream;
    stream.topics = {"a", "b"};
    stream.next = [&, sent = 0]() mutable {
      ++calls;
      Chunk chunk;
      if (sent < available) chunk.data = encode_sse({"", std::to_string(sent++), ""});
      chunk.more = sent < available;
      chunk.end = sent == 5;
      return chunk;
    };
    Response response;
    response.headers.add("Content-Type", "text/event-stream");
    response.body = std::move(stream);
    return response;
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_TRUE(client.receive_until("data: 1"));
  EXPECT_FALSE(client.receive(Duration::millis(50)));
  available = 3;
  test.signals.notify("a");
  EXPECT_TRUE(client.receive_until("data: 2"));
  available = 5;
  test.signals.notify("b");
  const RawAnswer answer = client.answer();
  EXPECT_EQ(answer.headers.get("transfer-encoding"), "chunked");
  EXPECT_EQ(answer.body, "data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n");
  EXPECT_EQ(calls, 5);
  client.get("/");  // the connection stays
  EXPECT_TRUE(client.receive_until("data: 4"));
}

TEST(ServerStream, HeartbeatsCallAgain) {
  TestServer test;
  test.handler.on_request = [&](Request&) {
    StreamBody stream;
    stream.heartbeat = Duration::millis(20);
    stream.next = [calls = 0]() mutable {
      Chunk chunk;
      chunk.data = encode_sse_comment("beat");
      chunk.end = ++calls == 4;
      return chunk;
    };
    Response response;
    response.body = std::move(stream);
    return response;
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_EQ(client.answer().body, ": beat\n\n: beat\n\n: beat\n\n: beat\n\n");
  RawClient old(test.port());
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const RawAnswer answer = old.answer();
  EXPECT_FALSE(answer.headers.get("transfer-encoding"));
  EXPECT_EQ(answer.headers.get("connection"), "close");
  EXPECT_EQ(answer.body, ": beat\n\n: beat\n\n: beat\n\n: beat\n\n");
  RawClient head(test.port());
  head.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(head.answer(false).status, 200);
  EXPECT_EQ(head.answer().status, 200);
}

TEST(ServerStream, ANotifyWhileAPieceIsMadeIsNotLost) {
  TestServer test;
  test.handler.on_request = [&](Request&) {
    StreamBody stream;
    stream.topics = {"a"};
    stream.heartbeat = Duration::seconds(60);
    stream.next = [&, calls = 0]() mutable {
      Chunk chunk;
      chunk.data = "x";
      chunk.end = ++calls == 3;
      if (!chunk.end) test.signals.notify("a");
      return chunk;
    };
    Response response;
    response.body = std::move(stream);
    return response;
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_EQ(client.answer().body, "xxx");
}

// A stream whose client left, or whose next() threw, is dropped; the latter must not look whole.
TEST(ServerStream, IsDroppedWhenItsClientLeaves) {
  TestServer test;
  std::atomic<int> open = 0;
  test.handler.on_request = [&](Request& request) {
    ++open;
    StreamBody stream;
    stream.topics = {"a"};
    const bool throws = request.path == "/throws";
    stream.next = [&, throws, gone = sentinel([&] { --open; })] {
      if (throws) throw std::runtime_error("broken");
      return Chunk();
    };
    Response response;
    response.body = std::move(stream);
    return response;
  };
  test.start();
  {
    RawClient client(test.port());
    client.get("/");
    ASSERT_TRUE(client.receive_until("\r\n\r\n"));
    EXPECT_EQ(open, 1);
  }
  EXPECT_TRUE(eventually([&] { return open == 0; }));
  RawClient client(test.port());
  client.get("/throws");
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.held().find("0\r\n\r\n"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return open == 0; }));
}

TEST(ServerStop, EndsWaitsAndStreamsAndIdleConnections) {
  WaitingServer test;
  const auto waiting = test.handler.on_request;
  test.handler.on_request = [&](Request& request) {
    if (request.path != "/stream") return waiting(request);
    StreamBody stream;
    stream.topics = {"a"};
    stream.next = [sent = false]() mutable {
      Chunk chunk;
      if (!std::exchange(sent, true)) chunk.data = "first";
      return chunk;
    };
    Response response;
    response.body = std::move(stream);
    return response;
  };
  test.start();
  RawClient idle(test.port()), wait(test.port()), stream(test.port()), half(test.port());
  idle.get("/plain");
  EXPECT_EQ(idle.answer().body, "plain");
  wait.get("/");
  stream.get("/stream");
  ASSERT_TRUE(stream.receive_until("first"));
  ASSERT_TRUE(eventually([&] { return test.waiting == 1; }));
  const Time before = system_clock().steady();
  test.server->stop(Duration::seconds(60));
  EXPECT_LT(system_clock().steady() - before, Duration::seconds(30));
  EXPECT_TRUE(idle.ended());
  const RawAnswer waited = wait.answer();
  EXPECT_EQ(waited.body, "waited");
  EXPECT_EQ(waited.headers.get("connection"), "close");
  EXPECT_EQ(stream.answer().body, "first");
  EXPECT_TRUE(stream.ended());
  EXPECT_FALSE(RawClient(test.server->port()).connected());
}

TEST(ServerStop, AWaitThatWantsToWaitOnIs503) {
  TestServer test;
  std::atomic<int> waiting = 0;
  std::function<Response()> again = [&] {
    ++waiting;
    return wait_response(test.signals, "topic", Duration::seconds(60), again);
  };
  test.handler.on_request = [&](Request&) { return again(); };
  test.start();
  RawClient client(test.port());
  client.get("/");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  test.server->stop(Duration::seconds(5));
  EXPECT_EQ(client.answer().status, 503);
}

TEST(ServerStop, LetsHandlersFinish) {
  TestServer test;
  std::atomic<bool> running = false;
  test.handler.on_request = [&](Request&) {
    running = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return Response::text(200, "text/plain", "finished");
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  ASSERT_TRUE(eventually([&] { return running.load(); }));
  test.server->stop(Duration::seconds(5));
  EXPECT_EQ(client.answer().body, "finished");
}

TEST(ServerStop, AfterTheGraceNothingIsWaitedFor) {
  TestServer test;
  std::atomic<int> running = 0;
  test.handler.on_request = [&](Request& request) {
    ++running;
    if (request.path == "/slow") std::this_thread::sleep_for(std::chrono::milliseconds(300));
    StreamBody stream;
    stream.next = [] {
      Chunk chunk;
      chunk.data = std::string(1 << 20, 'x');
      chunk.more = true;
      return chunk;
    };
    Response response;
    response.body = std::move(stream);
    return response;
  };
  test.start();
  RawClient slow(test.port()), full(test.port()), half(test.port());
  slow.get("/slow");
  full.get("/");
  half.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nx");
  ASSERT_TRUE(eventually([&] { return running == 2; }));
  const Time before = system_clock().steady();
  test.server->stop(Duration::millis(50));
  EXPECT_LT(system_clock().steady() - before, Duration::seconds(30));
  EXPECT_TRUE(half.ended());
  EXPECT_TRUE(slow.ended());
}

TEST(ServerStop, UnderLoadNothingIsLeftBehind) {
  for (int round = 0; round < 5; ++round) {
    WaitingServer test;
    test.start();
    std::atomic<bool> done = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        while (!done) {
          RawClient client(test.port());
          client.get(t == 0 ? "/" : t == 1 ? "/plain" : "/short");
          if (t != 0) client.answer();
        }
      });
    std::thread notifier([&] {
      while (!done) test.signals.notify("topic");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    test.server->stop(Duration::millis(round * 10));
    done = true;
    for (std::thread& thread : threads) thread.join();
    notifier.join();
    EXPECT_EQ(test.waiting, 0);
  }
}

}  // namespace
}  // namespace hearth::net
