// TLS, with a certificate made on the fly.
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "net/certificate_test.h"
#include "net/client.h"
#include "net/server_test.h"

namespace hearth::net {
namespace {

struct TlsServer : TestServer {
  TlsServer() : certificate(directory.path()) {
    options.tls_certificate = certificate.certificate_file();
    options.tls_key = certificate.key_file();
    handler.on_request = [](Request& request) {
      return Response::text(200, "text/plain", (request.tls ? "tls " : "plain ") + request.body);
    };
  }
  std::string url(const std::string& path) const {
    return format("https://127.0.0.1:{}{}", port(), path);
  }
  ClientRequest request(const std::string& path) const {
    ClientRequest out;
    out.url = url(path);
    out.ca_file = certificate.certificate_file();
    out.total_time = Duration::seconds(20);
    return out;
  }
  TestCertificate certificate;
};

TEST(ServerTls, ServesWhoTrustsIt) {
  TlsServer test;
  test.start();
  Client client;
  for (int i = 0; i < 3; ++i) {
    ClientRequest request = test.request("/");
    request.method = "POST";
    request.body = "hello";
    const auto answer = client.send(request);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "tls hello");
  }
  Client stranger;
  ClientRequest request = test.request("/");
  request.ca_file.clear();
  const auto refused = stranger.send(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unreachable);
  EXPECT_NE(refused.error().mend.find("certificate"), std::string::npos);
}

TEST(ServerTls, LargeBodiesBothWaysAndFiles) {
  TlsServer test;
  std::string large(5'000'000, 'x');
  for (size_t i = 0; i < large.size(); i += 100) large[i] = static_cast<char>('a' + i % 26);
  const std::string path = test.directory.path() + "/file";
  std::ofstream(path, std::ios::binary) << large;
  test.handler.on_rule = [](const RequestHead& head) {
    BodyRule rule;
    rule.most_bytes = 10 << 20;
    rule.to_file = head.path == "/spool";
    return rule;
  };
  test.handler.on_request = [&](Request& request) {
    Response response;
    if (request.path == "/file") {
      response.body = FileBody{path, 1'000, 4'000'000};
    } else if (!request.body_file.empty()) {
      std::ifstream file(request.body_file, std::ios::binary);
      response.body = std::string((std::istreambuf_iterator<char>(file)), {});
    } else {
      response.body = request.body;
    }
    return response;
  };
  test.start();
  Client client;
  for (const char* echo : {"/memory", "/spool"}) {
    ClientRequest request = test.request(echo);
    request.method = "PUT";
    request.body_file = path;
    const auto answer = client.send(request);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    EXPECT_TRUE(answer->body == large) << echo;
  }
  const auto file = client.send(test.request("/file"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->body == large.substr(1'000, 4'000'000));
}

TEST(ServerTls, WaitsSeeTheClientLeave) {
  TlsServer test;
  std::atomic<int> waiting = 0;
  test.handler.on_request = [&](Request&) {
    Wait wait;
    wait.topic = "topic";
    wait.since = test.signals.version("topic");
    ++waiting;
    wait.wait = Duration::seconds(60);
    const std::shared_ptr<void> gone(nullptr, [&](void*) { --waiting; });
    wait.then = [gone] { return Response::text(200, "text/plain", "waited"); };
    Response response;
    response.body = std::move(wait);
    return response;
  };
  test.start();
  Client client;
  ClientRequest request = test.request("/");
  request.total_time = Duration::seconds(2);
  const auto timeout = client.send(request);
  ASSERT_FALSE(timeout.ok());
  EXPECT_EQ(timeout.error().code, Code::timeout);
  EXPECT_TRUE(eventually([&] { return waiting == 0; }));
  request.total_time = Duration::seconds(20);
  std::thread notifier([&] {
    EXPECT_TRUE(eventually([&] { return waiting == 1; }));
    test.signals.notify("topic");
  });
  const auto waited = client.send(request);
  notifier.join();
  ASSERT_TRUE(waited.ok());
  EXPECT_EQ(waited->body, "waited");
}

TEST(ServerTls, PlainHttpIsToldWhereItIs) {
  TlsServer test;
  test.start();
  RawClient client(test.port());
  client.get("/");
  const RawAnswer answer = client.answer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("https://"), std::string::npos);
}

TEST(ServerTls, AHandshakeThatHangsIsClosed) {
  TlsServer test;
  test.options.head_time = Duration::millis(150);
  test.start();
  RawClient client(test.port());
  client.send(std::string("\x16\x03\x01", 3));
  EXPECT_TRUE(client.ended());
}

TEST(ServerTls, UnixSocketsStayPlain) {
  TlsServer test;
  const std::string path = test.directory.path() + "/s";
  test.options.listen.push_back({.unix_path = path});
  test.start();
  RawClient client(path);
  client.get("/");
  EXPECT_EQ(client.answer().body, "plain ");
}

TEST(ServerTls, ACertificateIsReadAgain) {
  TlsServer test;
  test.start();
  TemporaryDirectory other;
  const TestCertificate renewed(other.path());
  const auto trusts = [&](const TestCertificate& one) {
    Client fresh;
    ClientRequest request = test.request("/");
    request.ca_file = one.certificate_file();
    return fresh.send(request).ok();
  };
  const std::string kept = other.path() + "/kept.pem";
  std::filesystem::copy_file(test.certificate.certificate_file(), kept);
  ClientRequest old = test.request("/");
  old.ca_file = kept;
  Client open;  // keeps its connection
  ASSERT_TRUE(open.send(old).ok());
  const auto replace = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  };

  // Half of a renewal is no pair: the old one stays.
  replace(renewed.key_file(), test.options.tls_key);
  const auto half = test.server->reload_certificate();
  ASSERT_FALSE(half.ok());
  EXPECT_NE(half.error().detail.find(test.options.tls_key), std::string::npos);
  EXPECT_TRUE(trusts(test.certificate));

  replace(renewed.certificate_file(), test.options.tls_certificate);
  const auto whole = test.server->reload_certificate();
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_TRUE(trusts(renewed));
  Client stranger;
  EXPECT_FALSE(stranger.send(old).ok());
  EXPECT_TRUE(open.send(old).ok());  // on the connection it has
}

TEST(ServerTls, ReloadWithoutTlsDoesNothing) {
  TestServer test;
  test.start();
  EXPECT_TRUE(test.server->reload_certificate().ok());
}

TEST(ServerTls, BadCertificatesAreNamed) {
  TlsServer test;
  const auto failure = [&](const std::string& certificate, const std::string& key) {
    ServerOptions options = test.options;
    options.tls_certificate = certificate;
    options.tls_key = key;
    const auto made = Server::create(options, test.handler, test.signals);
    EXPECT_FALSE(made.ok());
    return made.ok() ? Error() : made.error();
  };
  const std::string good = test.options.tls_certificate, key = test.options.tls_key;
  EXPECT_EQ(failure("/nonexistent", key).code, Code::invalid);
  EXPECT_NE(failure("/nonexistent", key).detail.find("/nonexistent"), std::string::npos);
  EXPECT_EQ(failure(good, good).code, Code::invalid);
  EXPECT_EQ(failure(good, "").code, Code::invalid);
  TemporaryDirectory other;
  const TestCertificate another(other.path());
  EXPECT_EQ(failure(good, another.key_file()).code, Code::invalid);
}

}  // namespace
}  // namespace hearth::net
