// Every bound of the server, met.
#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "net/server_test.h"

namespace hearth::net {
namespace {

// Time-outs short enough for a test; the others stay as they are, so that none but the one that is
// meant can strike.
ServerOptions quick(Duration ServerOptions::* which, Duration value = Duration::millis(150)) {
  ServerOptions options;
  options.*which = value;
  return options;
}

BodyRule inline_rule(const RequestHead&) {
  BodyRule rule;
  rule.on_io_thread = true;
  return rule;
}

// Pieces of a megabyte for ever, until `dropped`.
Response endless(std::atomic<bool>& dropped) {
  StreamBody stream;
  const auto sentinel = std::shared_ptr<void>(nullptr, [&](void*) { dropped = true; });
  stream.next = [sentinel] {
    Chunk chunk;
    chunk.data = std::string(1 << 20, 'x');
    chunk.more = true;
    return chunk;
  };
  Response response;
  response.body = stream;
  return response;
}

TEST(ServerLimits, MalformedRequestsGetTheirStatusAndTheEnd) {
  TestServer test;
  std::atomic<int> handled = 0;
  test.handler.on_request = [&](Request&) {
    ++handled;
    return Response();
  };
  test.start();
  const struct {
    std::string text;
    int status;
  } wrong[] = {
      {"nonsense\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n", 413},
      {"GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n", 431},
      {std::string("\x16\x03\x01\x00\xa5\x01\x00", 7), 400},
  };
  for (const auto& one : wrong) {
    RawClient client(test.port());
    client.send(one.text);
    const RawAnswer answer = client.answer();
    EXPECT_EQ(answer.status, one.status) << one.text.substr(0, 60);
    EXPECT_EQ(answer.headers.get("connection"), "close");
    EXPECT_TRUE(answer.headers.get("x-request-id"));
    EXPECT_TRUE(answer.body.starts_with("malformed: ")) << answer.body;
    EXPECT_TRUE(client.ended());
  }
  EXPECT_EQ(handled, 0);
}

// Whatever comes behind a refused request on its connection must never be taken for one.
TEST(ServerLimits, NothingIsServedBehindARefusedRequest) {
  TestServer test;
  std::atomic<int> handled = 0;
  test.handler.on_request = [&](Request&) {
    ++handled;
    return Response();
  };
  test.start();
  RawClient client(test.port());
  client.send(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer().status, 400);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(handled, 0);
}

TEST(ServerLimits, ABodyOverItsRuleIs413EvenWhenItIsHereAlready) {
  TestServer test;
  test.handler.on_rule = [](const RequestHead&) {
    BodyRule rule;
    rule.most_bytes = 4;
    return rule;
  };
  test.start();
  for (const char* text : {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
                           "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                           "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}) {
    RawClient client(test.port());
    client.send(text);
    EXPECT_EQ(client.answer().status, 413);
  }
}

TEST(ServerLimits, AClientThatStillSendsGetsToSeeWhy) {
  TestServer test;
  test.start();
  RawClient client(test.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n");
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 20; ++i) client.send(piece);
  EXPECT_EQ(client.answer().status, 413);
}

TEST(ServerLimits, ASlowHeadIs408) {
  TestServer test(quick(&ServerOptions::head_time));
  test.start();
  RawClient client(test.port());
  client.send("GET / HT");
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    client.send("T");
  }
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_TRUE(client.ended());
}

TEST(ServerLimits, AnIdleConnectionIsClosedWithoutAWord) {
  TestServer test(quick(&ServerOptions::idle_time));
  test.start();
  RawClient silent(test.port());
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(silent.held(), "");
  RawClient client(test.port());
  client.get("/");
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_TRUE(client.ended());
}

TEST(ServerLimits, ASlowBodyIs408) {
  ServerOptions options = quick(&ServerOptions::body_rate_window);
  options.least_body_rate = 10'000;
  TestServer test(options);
  test.start();
  RawClient client(test.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n");
  std::thread sender([&] {
    for (int i = 0; i < 10; ++i) {
      client.send("x");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(client.answer().status, 408);
  sender.join();
}

TEST(ServerLimits, ABodyThatIsQuickEnoughMayTakeManyWindows) {
  ServerOptions options = quick(&ServerOptions::body_rate_window, Duration::millis(300));
  options.least_body_rate = 1'000;
  TestServer test(options);
  test.handler.on_request = [](Request& request) {
    return Response::text(200, "text/plain", std::to_string(request.body.size()));
  };
  test.start();
  // A sender that is held up for a whole window is too slow indeed: it tries again.
  std::string answer;
  for (int tries = 0; tries < 10 && answer != "20000"; ++tries) {
    RawClient client(test.port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n");
    for (int i = 0; i < 20; ++i) {
      client.send(std::string(1'000, 'x'));
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    answer = client.answer().body;
  }
  EXPECT_EQ(answer, "20000");
}

TEST(ServerLimits, AClientThatDoesNotReadIsClosed) {
  TestServer test(quick(&ServerOptions::write_time));
  std::atomic<bool> dropped = false;
  test.handler.on_request = [&](Request&) { return endless(dropped); };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_TRUE(eventually([&] { return dropped.load(); }));
}

TEST(ServerLimits, AClientThatReadsALittleNowAndThenIsClosed) {
  ServerOptions options = quick(&ServerOptions::write_rate_window);
  options.least_write_rate = 1LL << 40;  // no reader is as quick
  TestServer test(options);
  std::atomic<bool> dropped = false;
  test.handler.on_request = [&](Request&) { return endless(dropped); };
  test.start();
  RawClient client(test.port());
  client.get("/");
  // It reads all the time: write_time never strikes.
  ASSERT_TRUE(eventually([&] { return dropped.load() || !client.receive(); }));
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(dropped);
}

TEST(ServerLimits, AFileIsHeldToTheRateOfReadingToo) {
  for (const int64_t least : {int64_t{1}, int64_t{1} << 40}) {
    ServerOptions options = quick(&ServerOptions::write_rate_window, Duration::millis(20));
    options.least_write_rate = least;
    TestServer test(options);
    const std::string path = test.directory.path() + "/file";
    std::ofstream(path) << std::string(48 << 20, 'x');
    test.handler.on_request = [&](Request&) {
      Response response;
      response.body = FileBody{path, 0, 48 << 20};
      return response;
    };
    test.start();
    RawClient client(test.port());
    client.get("/");
    // Slow enough for several windows of waiting.
    size_t bytes = 0;
    while (client.receive()) {
      bytes += std::exchange(client.held(), std::string()).size();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_EQ(bytes > 48 << 20, least == 1) << bytes;
  }
}

TEST(ServerLimits, AStreamWithNothingToSendMayBeSilent) {
  ServerOptions options = quick(&ServerOptions::write_rate_window, Duration::millis(20));
  options.least_write_rate = 1LL << 40;
  options.write_time = Duration::millis(60);
  TestServer test(options);
  std::atomic<int> beats = 0;
  test.handler.on_request = [&](Request&) {
    StreamBody stream;
    stream.heartbeat = Duration::millis(80);
    stream.next = [&beats] {
      Chunk chunk;
      chunk.data = ":\n";
      chunk.end = ++beats == 8;
      return chunk;
    };
    Response response;
    response.body = stream;
    return response;
  };
  test.start();
  RawClient client(test.port());
  client.get("/");
  EXPECT_EQ(client.answer().body, ":\n:\n:\n:\n:\n:\n:\n:\n");
}

TEST(ServerLimits, AFullQueueIs503AndTheConnectionStays) {
  ServerOptions options;
  options.workers = 1;
  options.most_queued = 2;
  TestServer test(options);
  std::promise<void> release;
  const std::shared_future<void> released(release.get_future());
  std::atomic<int> running = 0;
  test.handler.on_request = [&](Request&) {
    ++running;
    released.wait();
    return Response();
  };
  test.start();
  std::vector<RawClient> busy;
  busy.emplace_back(test.port());
  busy[0].get("/");
  ASSERT_TRUE(eventually([&] { return running == 1; }));
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back(test.port());
    busy.back().get("/");
  }
  RawClient client(test.port());
  int status = 0;
  // The two above may still be on their way into the queue, and an answer on its way here.
  std::vector<RawClient> unsure;
  ASSERT_TRUE(eventually([&] {
    RawClient late(test.port());
    late.get("/");
    if (!late.receive(Duration::millis(200))) {
      unsure.push_back(std::move(late));
      return false;
    }
    status = late.answer().status;
    return true;
  }));
  EXPECT_EQ(status, 503);
  client.get("/");
  EXPECT_EQ(client.answer().status, 503);
  release.set_value();
  // Some of the unsure may have been queued in place of these.
  size_t good = 0;
  for (std::vector<RawClient>* clients : {&busy, &unsure})
    for (RawClient& one : *clients) good += one.answer().status == 200 ? 1 : 0;
  EXPECT_EQ(good, 3U);  // one ran, two were queued
  client.get("/");
  EXPECT_EQ(client.answer().status, 200);
}

TEST(ServerLimits, ConnectionsAreCounted) {
  ServerOptions options;
  options.most_connections = 3;
  TestServer test(options);
  test.handler.on_rule = inline_rule;
  test.start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(test.port());
    clients.back().get("/");
    EXPECT_EQ(clients.back().answer().status, 200);
  }
  RawClient more(test.port());
  EXPECT_EQ(more.answer().status, 503);
  EXPECT_TRUE(more.ended());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] {
    RawClient again(test.port());
    again.get("/");
    return again.answer().status == 200;
  }));
}

TEST(ServerLimits, ConnectionsOfOneAddressAreCounted) {
  TemporaryDirectory directory;
  ServerOptions options;
  options.most_connections_per_peer = 1;
  options.listen = {{.address = "127.0.0.1"}, {.unix_path = directory.path() + "/s"}};
  TestServer test(options);
  test.start();
  RawClient first(test.port());
  first.get("/");
  EXPECT_EQ(first.answer().status, 200);
  RawClient second(test.port());
  EXPECT_EQ(second.answer().status, 503);
  for (int i = 0; i < 2; ++i) {
    RawClient local(directory.path() + "/s");
    local.get("/");
    EXPECT_EQ(local.answer().status, 200);
  }
}

TEST(ServerLimits, BodiesInMemoryAreCounted) {
  ServerOptions options;
  options.most_body_memory = 1'000;
  TestServer test(options);
  test.handler.on_rule = [](const RequestHead& head) {
    BodyRule rule;
    rule.to_file = head.path == "/file";
    return rule;
  };
  test.start();
  RawClient holding(test.port());
  holding.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\nx");
  ASSERT_TRUE(eventually([&] {
    RawClient second(test.port());
    second.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200\r\n\r\n" +
                std::string(200, 'x'));
    return second.answer().status == 503;
  }));
  RawClient chunked(test.port());
  chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n" +
               std::string(200, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.answer().status, 503);
  holding.send(std::string(899, 'x'));
  EXPECT_EQ(holding.answer().status, 200);
  EXPECT_TRUE(eventually([&] {
    RawClient third(test.port());
    third.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n" + std::string(900, 'x'));
    return third.answer().status == 200;
  }));
}

TEST(ServerLimits, AClientThatVanishesInItsBodyIsForgotten) {
  TestServer test;
  test.start();
  for (int i = 0; i < 20; ++i) {
    RawClient client(test.port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\nx");
    const linger reset{1, 0};
    setsockopt(client.socket(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  test.server->stop(Duration::seconds(5));
}

}  // namespace
}  // namespace hearth::net
