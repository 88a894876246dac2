#include "net/client.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "net/server_test.h"

namespace hearth::net {
namespace {

ClientRequest request_to(const TestServer& test, const std::string& path) {
  ClientRequest request;
  request.url = test.url(path);
  request.total_time = Duration::seconds(20);
  return request;
}

// What holds for our own code and for libcurl.
class EachClient : public testing::TestWithParam<Client::Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, EachClient, testing::Values(Client::Way::best, Client::Way::libcurl),
                         [](const auto& one) {
                           return one.param == Client::Way::best ? "own" : "libcurl";
                         });

// Echoes method, path, some headers and the body.
struct EchoServer : TestServer {
  explicit EchoServer(ServerOptions the_options = {}) : TestServer(std::move(the_options)) {
    handler.on_rule = [](const RequestHead& head) {
      BodyRule rule;
      rule.most_bytes = head.path == "/small" ? 10 : 100 << 20;
      return rule;
    };
    handler.on_request = [this](Request& request) { return answer(request); };
  }
  Response answer(Request& request) {
    ++requests;
    last = request;
    if (request.path == "/missing") return Response::text(404, "text/plain", "not here");
    if (request.path == "/large")
      return Response::text(200, "text/plain", std::string(1 << 20, 'x'));
    if (request.path == "/moved") {
      Response response = Response::text(302, "text/plain", "");
      response.headers.add("Location", "/");
      return response;
    }
    if (request.path == "/wait") {
      Wait wait;
      wait.topic = "topic";
      wait.since = signals.version("topic");
      wait.wait = Duration::seconds(60);
      wait.then = [] { return Response(); };
      Response response;
      response.body = std::move(wait);
      return response;
    }
    return Response::text(200, "text/plain",
                          request.method + " " + request.path + " " + request.body);
  }
  std::atomic<int> requests = 0;
  Request last;
};

TEST_P(EachClient, SendsAndReceives) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    ClientRequest request = request_to(test, "/a?b=c");
    request.method = method;
    request.headers.add("X-A", "b");
    request.headers.add("X-Empty", "");
    if (method != std::string("GET")) request.body = "body";
    const auto answer = client.send(request);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, format("{} /a {}", method, request.body));
    EXPECT_EQ(answer->headers.get("content-type"), "text/plain");
    EXPECT_EQ(test.last.query, "b=c");
    EXPECT_EQ(test.last.headers.get("x-a"), "b");
    EXPECT_EQ(test.last.headers.get("x-empty"), "");
    EXPECT_FALSE(test.last.headers.get("content-type"));
  }
  ClientRequest head = request_to(test, "/a");
  head.method = "HEAD";
  const auto answer = client.send(head);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(answer->headers.get("content-length"), "8");
}

TEST_P(EachClient, AnyStatusIsAnAnswerAndNoRedirectIsFollowed) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  EXPECT_EQ(client.send(request_to(test, "/missing"))->status, 404);
  EXPECT_EQ(client.send(request_to(test, "/moved"))->status, 302);
  EXPECT_EQ(test.requests, 2);
}

TEST_P(EachClient, KeepsItsConnection) {
  ServerOptions options;
  options.most_connections = 1;
  EchoServer test(options);
  test.start();
  Client client(GetParam());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
}

TEST_P(EachClient, ConnectsAgainWhereTheServerHasClosed) {
  ServerOptions options;
  options.idle_time = Duration::millis(500);
  EchoServer test(options);
  test.start();
  Client client(GetParam());
  ClientRequest request = request_to(test, "/a");
  request.method = "POST";
  request.body = "body";
  for (int i = 1; i <= 3; ++i) {
    const auto answer = client.send(request);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    EXPECT_EQ(answer->body, "POST /a body");
    EXPECT_EQ(test.requests, i);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
}

TEST_P(EachClient, TalksOverAUnixSocket) {
  TemporaryDirectory directory;
  ServerOptions options;
  options.listen = {{.unix_path = directory.path() + "/s"}};
  EchoServer test(options);
  test.start();
  Client client(GetParam());
  ClientRequest request;
  request.url = "http://hearth/a";
  request.unix_path = directory.path() + "/s";
  const auto answer = client.send(request);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->body, "GET /a ");
  request.unix_path += "x";
  EXPECT_EQ(client.send(request).error().code, Code::unreachable);
}

TEST_P(EachClient, SendsAFileOrAPartOfIt) {
  EchoServer test;
  test.start();
  std::string large(3'000'000, 'x');
  for (size_t i = 0; i < large.size(); i += 100) large[i] = static_cast<char>('a' + i % 26);
  const std::string path = test.directory.path() + "/file";
  std::ofstream(path, std::ios::binary) << large;
  Client client(GetParam());
  ClientRequest request = request_to(test, "/");
  request.method = "PUT";
  request.body_file = path;
  std::vector<int64_t> seen;
  request.progress = [&](int64_t sent, int64_t total) {
    EXPECT_EQ(total, 3'000'000);
    seen.push_back(sent);
    return true;
  };
  auto answer = client.send(request);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_TRUE(answer->body == "PUT / " + large);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 3'000'000);
  request.progress = [](int64_t, int64_t) { return false; };
  EXPECT_EQ(client.send(request).error().code, Code::gone);
  request.progress = nullptr;
  request.body_offset = 1'000'001;
  request.body_length = 500'000;
  EXPECT_TRUE(client.send(request)->body == "PUT / " + large.substr(1'000'001, 500'000));
  request.body_length = -1;
  EXPECT_TRUE(client.send(request)->body == "PUT / " + large.substr(1'000'001));
  request.body_length = 0;
  EXPECT_EQ(client.send(request)->body, "PUT / ");
  request.body_length = 3'000'000;
  EXPECT_EQ(client.send(request).error().code, Code::invalid);
  request.body_file += "x";
  EXPECT_EQ(client.send(request).error().code, Code::not_found);
  EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
}

TEST_P(EachClient, SeesARefusalOfALargeBody) {
  EchoServer test;
  test.start();
  const std::string path = test.directory.path() + "/file";
  std::ofstream(path, std::ios::binary) << std::string(5'000'000, 'x');
  Client client(GetParam());
  ClientRequest request = request_to(test, "/small");
  request.method = "PUT";
  request.body_file = path;
  const auto answer = client.send(request);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->status, 413);
}

TEST_P(EachClient, BoundsTheAnswer) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  ClientRequest request = request_to(test, "/large");
  request.most_answer_bytes = 1 << 20;
  EXPECT_EQ(client.send(request)->body.size(), 1u << 20);
  request.most_answer_bytes -= 1;
  EXPECT_EQ(client.send(request).error().code, Code::too_large);
}

TEST_P(EachClient, GivesPiecesToASink) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  size_t bytes = 0;
  ClientRequest request = request_to(test, "/large");
  request.most_answer_bytes = 0;
  request.sink = [&](std::string_view piece) {
    bytes += piece.size();
    return true;
  };
  const auto answer = client.send(request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(bytes, 1u << 20);
  EXPECT_EQ(answer->body, "");
  request.sink = [](std::string_view) { return false; };
  EXPECT_EQ(client.send(request).error().code, Code::gone);
}

TEST_P(EachClient, IsCancelledFromOutside) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  std::thread canceller([&] {
    EXPECT_TRUE(eventually([&] { return test.requests == 1; }));
    client.cancel();
  });
  const Time before = system_clock().steady();
  const auto gone = client.send(request_to(test, "/wait"));
  canceller.join();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::gone);
  EXPECT_LT(system_clock().steady() - before, Duration::seconds(30));
  EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
  client.cancel();  // comes before the send it is meant for, and is not lost
  EXPECT_EQ(client.send(request_to(test, "/wait")).error().code, Code::gone);
  EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
}

TEST_P(EachClient, EndsARequestWhenItsCallerSaysSo) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  ClientRequest request = request_to(test, "/wait");
  request.keep_on = [&] { return test.requests == 0; };
  const Time before = system_clock().steady();
  EXPECT_EQ(client.send(request).error().code, Code::gone);
  EXPECT_LT(system_clock().steady() - before, Duration::seconds(30));
  EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
}

TEST_P(EachClient, EndsATransferThatNeverPauses) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  ClientRequest request = request_to(test, "/large");
  bool ended = false;
  request.sink = [&](std::string_view) {
    EXPECT_FALSE(ended);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // so that more has come meanwhile
    return true;
  };
  request.keep_on = [&, asked = 0]() mutable {
    ended = ++asked > 1;
    return !ended;
  };
  EXPECT_EQ(client.send(request).error().code, Code::gone);
  EXPECT_TRUE(ended);
  request.keep_on = nullptr;
  ended = false;
  request.total_time = Duration::seconds(1);
  // libcurl looks at the time when it has no more to read.
  if (GetParam() == Client::Way::best) {
    EXPECT_EQ(client.send(request).error().code, Code::timeout);
  }
  EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
}

TEST_P(EachClient, RefusesAddresses) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  EXPECT_EQ(client.send(request_to(test, "/"))->status, 200);
  for (const std::string host : {"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"}) {
    ClientRequest request;
    request.url = format("http://{}:{}/", host, test.port());
    std::string seen;
    request.refuse_address = [&](const std::string& address) {
      seen = address;
      return "loopback is not for webhooks";
    };
    const auto refused = client.send(request);
    ASSERT_FALSE(refused.ok()) << host;
    EXPECT_EQ(refused.error().code, Code::denied);
    EXPECT_EQ(refused.error().detail, "loopback is not for webhooks");
    EXPECT_TRUE(seen == "127.0.0.1" || seen == "::1") << seen;
    request.refuse_address = [](const std::string&) { return std::string(); };
    EXPECT_TRUE(client.send(request).ok()) << host;
  }
}

TEST_P(EachClient, SaysWhatIsWrong) {
  EchoServer test;
  test.start();
  Client client(GetParam());
  const auto failure = [&](const ClientRequest& request) {
    const auto answer = client.send(request);
    return answer.ok() ? Error() : answer.error();
  };
  ClientRequest request = request_to(test, "/");
  request.url = "ftp://127.0.0.1/";
  EXPECT_EQ(failure(request).code, Code::invalid);
  request.url = "file:///etc/passwd";
  EXPECT_EQ(failure(request).code, Code::invalid);
  request.url = "http://[::1";
  EXPECT_EQ(failure(request).code, Code::invalid);
  request.url = "http://127.0.0.1/\r\nX: y";
  EXPECT_EQ(failure(request).code, Code::invalid);
  request.url = "http://127.0.0.1:1/";
  EXPECT_EQ(failure(request).code, Code::unreachable);
  EXPECT_FALSE(failure(request).mend.empty());
  request.url = "http://name.invalid/";
  EXPECT_EQ(failure(request).code, Code::unreachable);
  request = request_to(test, "/wait");
  request.total_time = Duration::seconds(1);
  EXPECT_EQ(failure(request).code, Code::timeout);
  request = request_to(test, "/");
  request.headers.add("X", "a\r\nY: b");
  EXPECT_EQ(failure(request).code, Code::invalid);
  test.server->stop(Duration::seconds(1));
  EXPECT_EQ(failure(request_to(test, "/")).code, Code::unreachable);
}

}  // namespace
}  // namespace hearth::net
