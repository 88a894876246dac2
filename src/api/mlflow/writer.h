// JSON as MLflow's clients read it: protobuf's rules with snake_case names, 64-bit integers as
// numbers, and what is absent left out.
#pragma once

#include <string>
#include <string_view>

#include "base/format.h"
#include "domain/codec.h"
#include "domain/scalar.h"

namespace hearth::api::mlflow {

// One object, written as its members are named; its end closes it.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // The value is for the caller to write.
  std::string& member(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void text(std::string_view name, std::string_view value) { write_json_text(value, member(name)); }
  // Left out when it is empty.
  void some_text(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  void integer(std::string_view name, int64_t value) { member(name) += std::to_string(value); }
  void real(std::string_view name, double value) { write_json_real(value, member(name)); }
  void boolean(std::string_view name, bool value) { member(name) += value ? "true" : "false"; }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    list(name, values, [](std::string& out, const std::string& v) { write_json_text(v, out); });
  }
  // each(out, item) writes one value; an empty list is left out.
  template <typename List, typename Each>
  void list(std::string_view name, const List& items, Each each) {
    if (items.empty()) return;
    member(name) += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ',';
      first = false;
      each(out_, item);
    }
    out_ += ']';
  }
  // [{"key": ..., "value": ...}], the way MLflow writes maps.
  template <typename Map>
  void pairs(std::string_view name, const Map& map) {
    list(name, map, [](std::string& out, const auto& pair) {
      JsonObject one(out);
      one.text("key", pair.first);
      one.text("value", pair.second);
    });
  }

 private:
  std::string& out_;
  bool first_ = true;
};

// The text of one object that `fill` writes.
template <typename Fill>
std::string json_object(Fill fill) {
  std::string out;
  {
    JsonObject object(out);
    fill(object);
  }
  return out;
}

}  // namespace hearth::api::mlflow
