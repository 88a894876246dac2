// The public API as a C++ client.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/contexts.h"
#include "domain/codec.h"
#include "domain/wire/api.h"
#include "net/client.h"

namespace hearth::client {

using Query = std::vector<std::pair<std::string, std::string>>;

// A name as one part of a path: "a/b" stays one part.
std::string path_part(std::string_view name);

class Client {
 public:
  explicit Client(ServerContext context);
  const ServerContext& context() const { return context_; }

  // The answer's text. Problems become Errors with code, mend and field errors; no server:
  // unreachable with words. Creating calls carry an idempotency key, so that one that broke off is
  // tried again without doing it twice.
  Result<std::string> get(const std::string& path, const Query& query = {});
  Result<std::string> send(const std::string& method, const std::string& path,
                           const std::string& body = "", const Query& query = {},
                           const std::string& type = "application/json",
                           const net::Headers& extra = {});

  template <typename T>
  Result<T> get_as(const std::string& path, const Query& query = {}) {
    return from_json<T>(TRY(get(path, query)), Origin::server, kMostAnswerBytes);
  }
  template <typename T>
  Result<T> send_as(const std::string& method, const std::string& path,
                    const std::string& body = "", const Query& query = {}) {
    return from_json<T>(TRY(send(method, path, body, query)), Origin::server, kMostAnswerBytes);
  }
  // All items of a list over its pages, up to `most`.
  template <typename T>
  Result<std::vector<T>> list(const std::string& path, Query query = {}, size_t most = 100'000) {
    std::vector<T> all;
    query.emplace_back("cursor", "");
    for (;;) {
      const Node page = TRY(parse_json(TRY(get(path, query)), kMostAnswerBytes));
      const Node* items = page.find("items");
      if (items == nullptr) return Error::internal("the server's answer has no items");
      for (const Node& item : items->items) {
        if (all.size() >= most) return all;
        all.push_back(TRY(from_node<T>(item)));
      }
      const Node* next = page.find("next_cursor");
      if (next == nullptr || next->text.empty()) return all;
      query.back().second = next->text;
    }
  }

  // Sends a file as an object unless it is there; resumes after lost connections.
  using Progress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;
  Result<void> upload(const std::string& digest, const std::string& file, int64_t size_bytes,
                      const Progress& progress = {});
  Result<bool> have(const std::string& digest);
  // PUTs a whole file in one body, without time limit; `keep_on` as in net::ClientRequest. Sent
  // once: whoever calls tries again.
  Result<void> put_file(const std::string& path, const std::string& file,
                        const std::function<bool()>& keep_on);
  // Streams an answer's body (a download, a followed log) into `sink` until it ends or sink returns
  // false; no time limit.
  Result<void> stream(const std::string& path, const Query& query, const std::string& accept,
                      const std::function<bool(std::string_view)>& sink,
                      const net::Headers& extra = {});

  static constexpr size_t kMostAnswerBytes = 256 << 20;
  static constexpr int kTries = 4;  // of a call that broke off
  static constexpr int64_t kPartBytes = 8 << 20;

 private:
  net::ClientRequest request(const std::string& method, const std::string& path,
                             const Query& query) const;
  Result<net::Answer> call(net::ClientRequest request);
  ServerContext context_;
  net::Client http_;
};

// An answer of 4xx or 5xx as an Error.
Error problem_of(const net::Answer& answer);

// The body of POST /api/v1/tokens: what one may ask of a token, and nothing else of it.
std::string token_request(const Token& wanted);

}  // namespace hearth::client
