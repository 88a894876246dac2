// What a call of MLflow's API brings: a JSON body, or of GET the query. Unknown fields are passed
// over, as protobuf does; wrong types and missing fields are errors in MLflow's own words, which
// scripts look for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/codec.h"
#include "net/http.h"

namespace hearth::api::mlflow {

// The members of one object of the arguments.
class Fields {
 public:
  Fields(const Node& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Absent and null are "" (or nothing).
  Result<std::string> text(std::string_view name) const;
  Result<std::optional<std::string>> some_text(std::string_view name) const;
  Result<std::string> need_text(std::string_view name) const;  // "" counts as missing
  Result<std::optional<int64_t>> integer(std::string_view name) const;
  Result<int64_t> need_integer(std::string_view name) const;
  Result<double> need_real(std::string_view name) const;  // "NaN" and "Infinity" too
  Result<bool> boolean(std::string_view name, bool otherwise = false) const;
  Result<std::vector<std::string>> texts(std::string_view name) const;
  // The objects of a list; what they are called in errors: name[2].
  Result<std::vector<Fields>> objects(std::string_view name) const;
  // [{"key", "value"}] as pairs in order.
  Result<std::vector<std::pair<std::string, std::string>>> pairs(std::string_view name) const;
  // An object's members, if it is there.
  Result<std::optional<Fields>> object(std::string_view name) const;

  Error missing(std::string_view name) const;
  Error wrong(std::string_view name, const Node& found) const;
  const Node* find(std::string_view name) const;  // nothing for null

 private:
  std::string full(std::string_view name) const;

  const Node& object_;
  std::string prefix_;
};

class Arguments {
 public:
  static Result<Arguments> of(const net::Request& request);
  Fields fields() const { return {*root_, ""}; }

 private:
  std::shared_ptr<const Node> root_;  // shared: Fields hold a reference into it
};

// "Invalid value 5 for parameter 'x' supplied: why"
Error invalid_value(std::string_view name, const std::string& value_json, std::string_view why);

}  // namespace hearth::api::mlflow
