#include "api/mlflow/places.h"

#include "api/mlflow/face.h"
#include "api/mlflow/limits.h"
#include "base/format.h"
#include "base/units.h"

namespace hearth::api::mlflow {
namespace {

constexpr std::string_view kProxy = "/api/2.0/mlflow-artifacts/artifacts/";

// Behind "scheme:" and "//host".
std::string_view path_part(std::string_view uri) {
  uri.remove_prefix(uri.find(':') + 1);
  if (uri.starts_with("//")) {
    const size_t slash = uri.find('/', 2);
    uri = slash == std::string_view::npos ? std::string_view() : uri.substr(slash);
  }
  while (uri.starts_with('/')) uri.remove_prefix(1);
  return uri;
}

// models:/m-ID/path, models:/NAME/3, models:/NAME@alias.
Result<std::optional<Place>> model_place(Call& call, const std::string& path) {
  auto& records = call.services.records;
  const size_t slash = path.find('/');
  const std::string first = path.substr(0, slash);
  const std::string rest = slash == std::string::npos ? "" : path.substr(slash + 1);
  if (first.starts_with("m-") && records.get_logged_model(call.who, first).ok())
    return std::optional(Place{TRY(records.file_holder(call.who, first)), rest});
  const std::string reference =
      first.find('@') != std::string::npos || rest.empty() ? first : first + "@" + rest;
  auto version = records.get_model_version(call.who, project_of(call), reference);
  if (!version.ok()) return std::optional<Place>();
  return std::optional(Place{TRY(records.file_holder(call.who, version->id)), ""});
}

}  // namespace

std::string_view scheme_of(std::string_view uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon < 2) return {};
  const std::string_view scheme = uri.substr(0, colon);
  for (const char c : scheme)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '+' && c != '.')
      return {};
  return scheme;
}

Result<Place> place_of_path(Call& call, const std::string& path) {
  auto& records = call.services.records;
  const auto parts = split(path, '/');
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] != "artifacts") continue;
    auto holder = records.file_holder(call.who, std::string(parts[i - 1]));
    if (!holder.ok() && holder.error().code == Code::not_found) continue;
    Place place{TRY(std::move(holder)), ""};
    place.path =
        format("{}", join(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end(), "/"));
    return place;
  }
  return Place{TRY(records.loose_files(call.who, project_of(call))), path};
}

Result<std::optional<Place>> place_of_uri(Call& call, const std::string& uri) {
  const std::string_view scheme = scheme_of(uri);
  std::string path;
  if (scheme == "http" || scheme == "https") {
    const size_t at = uri.find(kProxy);
    if (at == std::string::npos) return std::optional<Place>();
    path = uri.substr(at + kProxy.size());
  } else if (scheme == "mlflow-artifacts" || scheme == "runs" || scheme == "models") {
    path = path_part(uri);
  } else {
    return std::optional<Place>();
  }
  path = TRY(safe_path(path));
  if (scheme == "models") return model_place(call, path);
  if (scheme != "runs") return std::optional(TRY(place_of_path(call, path)));
  const size_t slash = path.find('/');
  auto holder = call.services.records.file_holder(call.who, path.substr(0, slash));
  if (!holder.ok()) return std::optional<Place>();  // a run of another server
  return std::optional(
      Place{std::move(*holder), slash == std::string::npos ? "" : path.substr(slash + 1)});
}

}  // namespace hearth::api::mlflow
