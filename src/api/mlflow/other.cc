// /health, /version, and what is not built: 501, so that clients do not try again for minutes.
#include "api/mlflow/face.h"

namespace hearth::api::mlflow {
namespace {

Result<net::Response> not_built(Call& call) {
  return Error::of(Code::unsupported, format("{} is not built here", call.request.path));
}

}  // namespace

void add_other_calls(RouteTable& table) {
  table
      .add("GET", "/health", "mlflowHealth", "mlflow", "",
           [](Call&) -> Result<net::Response> {
             return net::Response::text(200, "text/plain; charset=utf-8", "OK");
           })
      .needs(Need::open);
  table
      .add("GET", "/version", "mlflowVersion", "mlflow", "",
           [](Call&) -> Result<net::Response> {
             return net::Response::text(200, "text/plain; charset=utf-8",
                                        std::string(kSpokenVersion));
           })
      .needs(Need::open);
  static constexpr std::array kNotBuilt = {
      "/graphql",
      "/api/2.0/mlflow/webhooks",
      "/api/2.0/mlflow/webhooks/{rest*}",
      "/api/2.0/mlflow/traces",
      "/api/2.0/mlflow/traces/{rest*}",
      "/api/3.0/mlflow/traces",
      "/api/3.0/mlflow/traces/{rest*}",
      "/api/3.0/mlflow/datasets/{rest*}",
      "/api/3.0/mlflow/scorers/{rest*}",
      "/api/3.0/mlflow/assessments/{rest*}",
      "/api/2.0/mlflow/runs/create-promptlab-run",
      "/api/2.0/mlflow/gateway-proxy",
      "/api/2.0/mlflow-artifacts/mpu/{rest*}",
  };
  static constexpr std::array kMethods = {"GET", "POST", "PATCH", "DELETE"};
  for (const char* path : kNotBuilt)
    for (const char* method : kMethods)
      table.add(method, path, path, "mlflow", "", not_built).most_body_bytes = kMostJsonBytes;
}

}  // namespace hearth::api::mlflow
