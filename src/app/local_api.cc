#include "app/local_api.h"

#include "app/server.h"
#include "base/format.h"
#include "client/client.h"
#include "net/client.h"

namespace hearth::app {

Result<Node> local_call(const DataPaths& paths, const std::string& method, const std::string& path,
                        const std::string& body) {
  net::ClientRequest request;
  request.method = method;
  request.url = "http://localhost" + path;
  request.unix_path = paths.socket();
  request.body = body;
  if (!body.empty()) request.headers.set("Content-Type", "application/json");
  auto answer = net::Client().send(request);
  if (!answer.ok())
    return Error::of(Code::unreachable, format("no server answers on {}", paths.root),
                     "start one with `hearth up`");
  if (answer->status >= 400) return client::problem_of(*answer);
  return answer->body.empty() ? Node{} : TRY(parse_json(answer->body));
}

Result<std::string> local_sign_in_link(const DataPaths& paths) {
  const Node answer = TRY(local_call(paths, "POST", "/api/v1/sign-in-codes", "{}"));
  const Node* link = answer.find("link");
  if (link == nullptr) return Error::internal("the server gave no link");
  return link->text;
}

}  // namespace hearth::app
