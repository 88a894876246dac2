#include "net/server.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "net/server_test.h"

namespace hearth::net {
namespace {

// What begins with /inline is handled by the loop's own thread.
BodyRule inline_rule(const RequestHead& head) {
  BodyRule rule;
  rule.on_io_thread = head.path.starts_with("/inline");
  return rule;
}

TEST(Server, AnswersAndKeepsTheConnection) {
  TestServer test;
  test.start();
  RawClient client(test.port());
  for (const char* path : {"/a", "/b?x=1", "/c"}) {
    client.get(path);
    const RawAnswer answer = client.answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, std::string("GET ") + std::string(path).substr(0, 2));
    EXPECT_FALSE(answer.headers.get("connection"));
    ASSERT_TRUE(answer.headers.get("date"));
    EXPECT_TRUE(answer.headers.get("date")->ends_with(" GMT"));
    EXPECT_EQ(answer.headers.get("content-length"), std::to_string(answer.body.size()));
  }
  client.get("/last", "Connection: close\r\n");
  EXPECT_EQ(client.answer().headers.get("connection"), "close");
  EXPECT_TRUE(client.ended());
}

TEST(Server, AnswersOldClients) {
  TestServer test;
  test.start();
  RawClient once(test.port());
  once.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_EQ(once.answer().body, "GET /a");
  EXPECT_TRUE(once.ended());
  RawClient staying(test.port());
  staying.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(staying.answer().headers.get("connection"), "keep-alive");
  staying.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(staying.answer().body, "GET /b");
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  TestServer test;
  test.handler.on_rule = [](const RequestHead& head) {
    BodyRule rule;
    rule.on_io_thread = head.path.ends_with("0");
    return rule;
  };
  test.handler.on_request = [](Request& request) {
    if (request.path.ends_with("1")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Response::text(200, "text/plain", request.path + request.body);
  };
  test.start();
  RawClient client(test.port());
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += format("POST /{} HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", i);
  client.send(all);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.answer().body, format("/{}abc", i));
}

// Short answers are sent by the worker that made them; what its socket does not take goes out
// later.
TEST(Server, SendsShortAnswersWholeToAClientThatReadsLate) {
  constexpr int kRequests = 2000;
  const std::string padding(15'000, '.');  // in all more than sockets hold
  TestServer test;
  std::atomic<int> handled = 0;
  test.handler.on_request = [&](Request& request) {
    ++handled;
    return Response::text(200, "text/plain", request.path + padding);
  };
  test.start();
  RawClient client(test.port());
  const int small = 64 << 10;
  ASSERT_EQ(setsockopt(client.socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  std::string all;
  for (int i = 0; i < kRequests; ++i) all += format("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", i);
  client.send(all);
  int before = 0, same = 0;  // looks in a row
  ASSERT_TRUE(eventually([&] {
    same = std::exchange(before, handled.load()) == handled && handled > 0 ? same + 1 : 0;
    return same == 40;
  }));
  EXPECT_LT(handled, kRequests);  // it is held up
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(client.answer().body, format("/{}", i) + padding);
}

TEST(Server, TakesARequestByteByByte) {
  TestServer test;
  test.handler.on_request = [](Request& request) {
    return Response::text(200, "text/plain", request.body);
  };
  test.start();
  RawClient client(test.port());
  const std::string text =
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    for (const char c : text) {
      client.send(std::string(1, c));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_EQ(client.answer().body, "abcde");
  }
}

TEST(Server, GivesTheHandlerWhatWasAsked) {
  TestServer test;
  Request seen;
  test.handler.on_request = [&](Request& request) {
    seen = request;
    return Response();
  };
  test.start();
  RawClient client(test.port());
  client.send(
      "PATCH /a%2Fb?x=%20 HTTP/1.1\r\nHost: me:1\r\nX-A: b\r\nX-Request-Id: my.id-1\r\n"
      "X-Forwarded-For: 9.9.9.9\r\nContent-Length: 2\r\n\r\nhi");
  const RawAnswer answer = client.answer();
  EXPECT_EQ(answer.headers.get("x-request-id"), "my.id-1");
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.path, "/a%2Fb");
  EXPECT_EQ(seen.query_value("x"), " ");
  EXPECT_EQ(seen.headers.get("x-a"), "b");
  EXPECT_EQ(seen.headers.get("host"), "me:1");
  EXPECT_EQ(seen.body, "hi");
  EXPECT_EQ(seen.peer, "127.0.0.1");
  EXPECT_EQ(seen.peer_uid, -1);
  EXPECT_EQ(seen.id, "my.id-1");
  EXPECT_FALSE(seen.tls);
}

TEST(Server, MakesARequestIdWhereTheClientsIsNone) {
  TestServer test;
  test.start();
  RawClient client(test.port());
  client.get("/", "X-Request-Id: bad id\r\n");
  const std::string first(client.answer().headers.get("x-request-id").value_or(""));
  client.get("/");
  const std::string second(client.answer().headers.get("x-request-id").value_or(""));
  EXPECT_EQ(first.size(), 26u);
  EXPECT_NE(first, second);
}

TEST(Server, BelievesATrustedProxy) {
  ServerOptions options;
  options.trusted_proxies = {"127.0.0.0/8"};
  TestServer test(options);
  test.handler.on_request = [](Request& request) {
    return Response::text(200, "text/plain", request.peer + (request.tls ? " tls" : " plain"));
  };
  test.start();
  RawClient client(test.port());
  client.get("/", "X-Forwarded-For: 6.6.6.6, 1.2.3.4\r\nX-Forwarded-Proto: https\r\n");
  EXPECT_EQ(client.answer().body, "1.2.3.4 tls");
  client.get("/");
  EXPECT_EQ(client.answer().body, "127.0.0.1 plain");
}

TEST(Server, SendsNoBodyForHeadAndEmptyStatuses) {
  TestServer test;
  test.handler.on_request = [](Request& request) {
    return Response::text(request.path == "/204"   ? 204
                          : request.path == "/304" ? 304
                                                   : 200,
                          "text/plain", "body");
  };
  test.start();
  RawClient client(test.port());
  client.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  const RawAnswer head = client.answer(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.get("content-length"), "4");
  client.get("/204");
  const RawAnswer empty = client.answer(false);
  EXPECT_EQ(empty.status, 204);
  EXPECT_FALSE(empty.headers.get("content-length"));
  client.get("/304");
  EXPECT_EQ(client.answer(false).status, 304);
  client.get("/a");
  EXPECT_EQ(client.answer().body, "body");
}

TEST(Server, SendsLargeAnswersWhole) {
  TestServer test;
  const auto large = std::make_shared<std::string>(20 << 20, 'x');
  for (size_t i = 0; i < large->size(); i += 1000) (*large)[i] = static_cast<char>('a' + i % 26);
  test.handler.on_request = [&](Request& request) {
    Response response;
    if (request.path == "/shared") {
      response.body = std::shared_ptr<const std::string>(large);
    } else {
      response.body = *large;
    }
    return response;
  };
  test.start();
  RawClient client(test.port());
  for (const char* path : {"/shared", "/own"}) {
    client.get(path);
    EXPECT_TRUE(client.answer().body == *large);
  }
}

TEST(Server, SendsPartsOfFiles) {
  TestServer test;
  std::string content(3 << 20, 'x');
  for (size_t i = 0; i < content.size(); i += 100) content[i] = static_cast<char>('a' + i % 26);
  const std::string path = test.directory.path() + "/file";
  std::ofstream(path, std::ios::binary) << content;
  test.handler.on_request = [&](Request& request) {
    Response response;
    response.headers.add("Content-Type", "application/octet-stream");
    if (request.path == "/whole") response.body = FileBody{path, 0, 3 << 20};
    if (request.path == "/part") response.body = FileBody{path, 1'000'001, 1'500'000};
    if (request.path == "/none") response.body = FileBody{path, 5, 0};
    if (request.path == "/beyond") response.body = FileBody{path, 5, 3 << 20};
    if (request.path == "/missing") response.body = FileBody{path + "x", 0, 1};
    if (request.path == "/directory") response.body = FileBody{test.directory.path(), 0, 1};
    return response;
  };
  test.start();
  RawClient client(test.port());
  client.get("/whole");
  EXPECT_TRUE(client.answer().body == content);
  client.get("/part");
  EXPECT_TRUE(client.answer().body == content.substr(1'000'001, 1'500'000));
  client.get("/none");
  EXPECT_EQ(client.answer().headers.get("content-length"), "0");
  client.send("HEAD /whole HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer(false).headers.get("content-length"), std::to_string(3 << 20));
  for (const char* wrong : {"/beyond", "/missing", "/directory"}) {
    client.get(wrong);
    EXPECT_EQ(client.answer().status, 500) << wrong;
  }
}

TEST(Server, SpoolsBodiesToFilesAndDeletesThem) {
  TestServer test;
  test.handler.on_rule = [](const RequestHead&) {
    BodyRule rule;
    rule.most_bytes = 10 << 20;
    rule.to_file = true;
    return rule;
  };
  const std::string kept = test.directory.path() + "/kept";
  test.handler.on_request = [&](Request& request) {
    if (request.body_file.empty()) return Response::text(200, "text/plain", "no file");
    std::ifstream file(request.body_file, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    struct stat about{};
    EXPECT_EQ(stat(request.body_file.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    EXPECT_TRUE(request.body.empty());
    if (request.path == "/keep") std::filesystem::rename(request.body_file, kept);
    return Response::text(200, "text/plain", text);
  };
  test.start();
  RawClient client(test.port());
  std::string large(3'000'000, 'x');
  for (size_t i = 0; i < large.size(); i += 100) large[i] = static_cast<char>('a' + i % 26);
  client.send(format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", large.size()));
  client.send(large);
  EXPECT_TRUE(client.answer().body == large);
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (size_t at = 0; at < large.size(); at += 100'000)
    client.send(format("{:x}\r\n{}\r\n", 100'000, large.substr(at, 100'000)));
  client.send("0\r\n\r\n");
  EXPECT_TRUE(client.answer().body == large);
  client.get("/");
  EXPECT_EQ(client.answer().body, "no file");
  EXPECT_TRUE(test.directory.empty());
  client.send("POST /keep HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(client.answer().body, "hi");
  EXPECT_TRUE(std::filesystem::exists(kept));
  // A client that leaves in the middle leaves no file behind.
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n");
  client.send(std::string(600'000, 'x'));
  const auto files = [&] {
    const std::filesystem::directory_iterator all(test.directory.path());
    return std::distance(begin(all), end(all));
  };
  EXPECT_TRUE(eventually([&] { return files() == 2; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return files() == 1; }));
}

TEST(Server, SaysWhenABodyCannotBeKept) {
  TestServer test;
  test.options.temporary_directory = test.directory.path() + "/none";
  test.handler.on_rule = [](const RequestHead&) {
    BodyRule rule;
    rule.to_file = true;
    return rule;
  };
  test.start();
  RawClient client(test.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(client.answer().status, 503);
  EXPECT_TRUE(client.ended());
}

TEST(Server, SaysContinueWhenItWantsTheBody) {
  TestServer test;
  test.handler.on_rule = [](const RequestHead& head) {
    BodyRule rule;
    rule.most_bytes = 10;
    if (head.path == "/refused") rule.refuse = Response::text(401, "text/plain", "who are you");
    return rule;
  };
  test.handler.on_request = [](Request& request) {
    return Response::text(200, "text/plain", request.body);
  };
  test.start();
  const std::string expect = "Expect: 100-continue\r\n";
  RawClient client(test.port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n" + expect + "\r\n");
  EXPECT_EQ(client.answer().status, 100);
  client.send("hi");
  EXPECT_EQ(client.answer().body, "hi");
  client.send("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n" + expect + "\r\n");
  EXPECT_EQ(client.answer().status, 401);
  EXPECT_TRUE(client.ended());
  RawClient larger(test.port());
  larger.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n" + expect + "\r\n");
  EXPECT_EQ(larger.answer().status, 413);
}

TEST(Server, RefusesWithoutTheBodyAndKeepsTheConnectionIfItIsSmall) {
  TestServer test;
  std::atomic<int> handled = 0;
  test.handler.on_rule = [](const RequestHead& head) {
    BodyRule rule;
    if (head.path == "/refused") rule.refuse = Response::text(403, "text/plain", "no");
    return rule;
  };
  test.handler.on_request = [&](Request&) {
    ++handled;
    return Response();
  };
  test.start();
  RawClient client(test.port());
  client.send("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(client.answer().status, 403);
  client.get("/");
  EXPECT_EQ(client.answer().status, 200);
  client.send("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\nhello");
  EXPECT_EQ(client.answer().status, 403);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(handled, 1);
}

TEST(Server, ListensOnAUnixSocketAndKnowsWhoCalls) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/api.sock";
  ServerOptions options;
  options.listen = {{.address = "127.0.0.1"}, {.unix_path = path}};
  TestServer test(options);
  test.handler.on_request = [](Request& request) {
    return Response::text(200, "text/plain", format("{} {}", request.peer, request.peer_uid));
  };
  test.start();
  struct stat about{};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  RawClient client(path);
  client.get("/", "X-Forwarded-For: 1.2.3.4\r\n");
  EXPECT_EQ(client.answer().body, format("unix {}", getuid()));
  EXPECT_EQ(test.server->port(1), 0);
  test.server->stop(Duration::seconds(1));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Server, ReplacesASocketThatAKilledServerLeft) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/api.sock";
  const int left = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  ServerOptions options;
  options.listen = {{.unix_path = path}};
  TestServer test(options);
  test.start();
  TestHandler handler;
  const auto second = Server::create(test.options, handler, test.signals);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::conflict);
  std::ofstream(directory.path() + "/file") << "x";
  options.listen = {{.unix_path = directory.path() + "/file"}};
  EXPECT_EQ(Server::create(options, handler, test.signals).error().code, Code::conflict);
  options.listen = {{.unix_path = std::string(200, 'x')}};
  EXPECT_EQ(Server::create(options, handler, test.signals).error().code, Code::invalid);
}

TEST(Server, NamesTheAddressThatIsTaken) {
  TestServer test;
  test.start();
  ServerOptions options;
  options.listen = {{.address = "127.0.0.1", .port = test.port()}};
  const auto second = Server::create(options, test.handler, test.signals);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_NE(second.error().detail.find(format("127.0.0.1:{}", test.port())), std::string::npos);
  EXPECT_NE(second.error().mend.find("another port"), std::string::npos);
  for (const char* wrong : {"localhost", "", "1.2.3"}) {
    options.listen = {{.address = wrong}};
    EXPECT_EQ(Server::create(options, test.handler, test.signals).error().code, Code::invalid);
  }
  options.listen = {{.address = "192.0.2.1"}};
  EXPECT_EQ(Server::create(options, test.handler, test.signals).error().code, Code::invalid);
  options.trusted_proxies = {"nonsense"};
  EXPECT_EQ(Server::create(options, test.handler, test.signals).error().code, Code::invalid);
}

TEST(Server, AHandlerThatThrowsIsA500) {
  TestServer test;
  test.handler.on_rule = inline_rule;
  test.handler.on_request = [](Request&) -> Response { throw std::runtime_error("broken"); };
  test.start();
  RawClient client(test.port());
  for (const char* path : {"/", "/inline", "/"}) {
    client.get(path);
    EXPECT_EQ(client.answer().status, 500);
  }
}

// A client that left must not end the program: OpenSSL and sendfile() raise SIGPIPE where they
// write.
TEST(Server, EveryThreadThatWritesHasSigpipeBlocked) {
  TestServer test;
  test.handler.on_rule = inline_rule;
  test.handler.on_request = [](Request&) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return Response::text(200, "text/plain", sigismember(&blocked, SIGPIPE) == 1 ? "yes" : "no");
  };
  test.start();
  RawClient client(test.port());
  for (const char* path : {"/worker", "/inline"}) {
    client.get(path);
    EXPECT_EQ(client.answer().body, "yes") << path;
  }
}

TEST(Server, ServesTwoHundredConnectionsAtOnce) {
  ServerOptions options;
  options.io_threads = 2;
  TestServer test(options);
  test.handler.on_rule = inline_rule;
  test.handler.on_request = [](Request& request) {
    return Response::text(200, "text/plain", request.path + request.body);
  };
  test.start();
  constexpr int kThreads = 4, kEach = 50, kRounds = 5;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<RawClient> clients;
      for (int i = 0; i < kEach; ++i) clients.emplace_back(test.port());
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kEach; ++i)
          clients[static_cast<size_t>(i)].send(
              format("POST /{}{} HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody",
                     i % 2 == 0 ? "inline" : "pool", t * kEach + i));
        for (int i = 0; i < kEach; ++i) {
          const std::string want =
              format("/{}{}body", i % 2 == 0 ? "inline" : "pool", t * kEach + i);
          if (clients[static_cast<size_t>(i)].answer().body == want) ++right;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * kEach * kRounds);
}

}  // namespace
}  // namespace hearth::net
