// Commands against a server made of canned answers.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "base/format.h"
#include "cli/local.h"
#include "domain/wire/api.h"
#include "net/server.h"

namespace hearth::cli {

namespace fs = std::filesystem;

struct Asked {
  std::string method, path, query, body;
  net::Headers headers;
};

// Answers by "METHOD PATH"; keeps what was asked.
class Handler : public net::Handler {
 public:
  std::map<std::string, std::function<net::Response(net::Request&)>> routes;

  void answer(const std::string& route, std::string body, int status = 200,
              std::string type = "application/json") {
    routes[route] = [=](net::Request&) { return net::Response::text(status, type, body); };
  }
  std::vector<Asked> asked(const std::string& route) {
    const std::lock_guard lock(mutex_);
    std::vector<Asked> found;
    for (const Asked& one : asked_)
      if (one.method + " " + one.path == route) found.push_back(one);
    return found;
  }

  net::BodyRule rule(const net::RequestHead&) override { return {.most_bytes = 64 << 20}; }
  net::Response malformed(int code, std::string_view detail, const std::string&) override {
    return net::Response::text(code, "text/plain", std::string(detail));
  }
  net::Response handle(net::Request& request) override {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(
          {request.method, request.path, request.query, request.body, request.headers});
    }
    const auto found = routes.find(request.method + " " + request.path);
    if (found != routes.end()) return found->second(request);
    return net::Response::text(
        404, "application/problem+json",
        R"({"code":"not_found","detail":"there is no such thing","mend":"look","status":404})");
  }

 private:
  std::mutex mutex_;
  std::vector<Asked> asked_;
};

struct Done {
  int code = -1;
  std::string out, err;
};

class FlowTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "hearth-cli-XXXXXX").string();
    folder_ = mkdtemp(path.data());
    net::ServerOptions options;
    options.listen.push_back({.address = "127.0.0.1"});
    server_ = net::Server::create(options, handler_, signals_).value();
    server_->start();
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    setenv("HEARTH_URL", format("http://127.0.0.1:{}", server_->port()).c_str(), 1);
    setenv("HEARTH_TOKEN", "hth_test", 1);
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path("/");
    fs::remove_all(folder_);
    unsetenv("HEARTH_URL");
    unsetenv("HEARTH_TOKEN");
  }

  Done hearth(std::vector<std::string> words) {
    words.insert(words.begin(), "hearth");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    const LocalCommands local;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Done done;
    done.code = run(static_cast<int>(argv.size()), argv.data(), local);
    std::fflush(stdout);
    done.out = testing::internal::GetCapturedStdout();
    done.err = testing::internal::GetCapturedStderr();
    return done;
  }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((fs::path(folder_) / name).parent_path());
    std::ofstream(fs::path(folder_) / name) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(fs::path(folder_) / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Objects are taken whole and are there from then on.
  void take_uploads() {
    handler_.routes["POST /api/v1/uploads"] = [this](net::Request& request) {
      const auto body = from_json<UploadBody>(request.body).value();
      uploads_.push_back(body.digest);
      return net::Response::text(201, "application/json", to_json(UploadResult{"u1", 0}));
    };
    handler_.routes["PATCH /api/v1/uploads/u1"] = [](net::Request& request) {
      return net::Response::text(
          200, "application/json",
          to_json(UploadResult{"u1", static_cast<int64_t>(request.body.size())}));
    };
    handler_.answer("POST /api/v1/uploads/u1/finish", R"({"digest":"","size_bytes":0})");
  }

  std::string folder_;
  Signals signals_;
  Handler handler_;
  std::unique_ptr<net::Server> server_;
  std::vector<std::string> uploads_;
};

}  // namespace hearth::cli
