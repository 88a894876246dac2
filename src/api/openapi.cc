// The OpenAPI 3.1 document of the route table.
#include <algorithm>
#include <set>

#include "api/answer.h"
#include "api/route.h"
#include "base/format.h"
#include "control/references.h"
#include "domain/project.h"
#include "domain/schema.h"

namespace hearth::api {
namespace {

constexpr std::string_view kSchemas = "#/components/schemas/";
// What a client sends is held to more than what it is answered: bounds, patterns, no other fields.
constexpr std::string_view kInput = "Input.";

// Parts that are neither empty nor `.` nor `..`, without NUL and backslash.
constexpr std::string_view kPlainPath =
    R"((?:(?:\.{0,2}[^./\\\x00]|\.{3})[^/\\\x00]*/)*(?:\.{0,2}[^./\\\x00]|\.{3})[^/\\\x00]*)";

class Document {
 public:
  std::string write() {
    std::string paths;
    std::map<std::string, std::vector<const Route*>> by_path;
    for (const auto& route : route_table().routes())
      by_path[document_path(*route)].push_back(route.get());
    for (const auto& [path, routes] : by_path) {
      // A line per path, operation and schema, so that a change shows in a review.
      paths += paths.empty() ? "\n" : ",\n";
      paths += json_quote(path) + ":{";
      bool first = true;
      for (const Route* route : routes) {
        paths += first ? "\n " : ",\n ";
        first = false;
        std::string method(route->method);
        for (char& c : method) c = static_cast<char>(c | 32);
        paths += json_quote(method) + ":" + operation(*route);
      }
      paths += "}";
    }
    need(type_of<Problem>(), SchemaFor::output);
    return format(
        R"({{"openapi":"3.1.0","info":{{"title":"Hearth","version":"1",)"
        R"("description":"From raw data to a served model. Every error is a Problem; lists )"
        R"(are pages with next_cursor."}},)"
        R"("security":[{{"bearer":[]}},{{"cookie":[]}}],"paths":{{{}}},"components":{{)"
        R"("securitySchemes":{{"bearer":{{"type":"http","scheme":"bearer"}},)"
        R"("cookie":{{"type":"apiKey","in":"cookie","name":"hearth_session"}}}},)"
        R"("responses":{{"Problem":{{"description":"What went wrong",)"
        R"("content":{{"application/problem+json":{{"schema":{{"$ref":"{}Problem"}}}}}}}}}})"
        R"(,)"
        R"("schemas":{{{}}}}}}})",
        paths, kSchemas, schemas());
  }

 private:
  static std::string document_path(const Route& route) {
    std::string path(route.path);
    if (const size_t star = path.find("*}"); star != std::string::npos) path.erase(star, 1);
    return path;
  }
  void need(const Type& type, SchemaFor use) {
    Wanted& wanted = use == SchemaFor::input ? input_ : output_;
    if (wanted.seen.insert(&type).second) wanted.types.push_back(&type);
  }
  static std::string_view prefix(SchemaFor use) { return use == SchemaFor::input ? kInput : ""; }
  std::string reference(const Type& type, SchemaFor use) {
    need(type, use);
    return format(R"({{"$ref":"{}{}{}"}})", kSchemas, prefix(use), type.name);
  }
  void add_schemas(SchemaFor use, std::map<std::string, std::string>& all) {
    const Wanted& wanted = use == SchemaFor::input ? input_ : output_;
    const std::string ref_prefix = format("{}{}", kSchemas, prefix(use));
    for (size_t i = 0; i < wanted.types.size(); ++i) {  // grows while it is walked
      const Type& type = *wanted.types[i];
      all[format("{}{}", prefix(use), type.name)] =
          json_schema(type, use, ref_prefix, [&](const Type& other) { need(other, use); });
    }
  }
  std::string schemas() {
    std::map<std::string, std::string> all;
    add_schemas(SchemaFor::output, all);
    add_schemas(SchemaFor::input, all);
    std::string out;
    for (const auto& [name, schema] : all)
      out += (out.empty() ? "\n" : ",\n") + json_quote(name) + ":" + schema;
    return out;
  }

  std::string operation(const Route& route) {
    std::string out = format(R"({{"operationId":{},"tags":[{}],"summary":{})", json_quote(route.id),
                             json_quote(route.tag), json_quote(route.summary));
    if (route.need == Need::open) out += R"(,"security":[])";
    out += R"(,"parameters":[)" + parameters(route) + "]";
    if (route.body != nullptr) {
      out +=
          format(R"(,"requestBody":{{"required":{},"content":{{"application/json":{{"schema":{}}})",
                 must_be_given(*route.body), reference(*route.body, SchemaFor::input));
      if (!route.body_type.empty())
        out += format(R"(,{}:{{"schema":{{"type":"string"}}}})", json_quote(route.body_type));
      out += "}}";
    } else if (!route.body_type.empty()) {
      out +=
          format(R"(,"requestBody":{{"required":true,"content":{{{}:{{"schema":{{"type":"string",)"
                 R"("format":"binary"}}}}}}}})",
                 json_quote(route.body_type));
    }
    return out + R"(,"responses":{)" + responses(route) + "}}";
  }

  // An empty body is read as {}.
  static bool must_be_given(const Type& type) {
    return type.one_of || std::any_of(type.fields.begin(), type.fields.end(),
                                      [](const Field& field) { return field.is_required; });
  }

  static std::string whole(std::string_view pattern) {
    return json_quote(format("^(?:{})$", pattern));
  }
  static std::string_view pattern_of_secret() {
    for (const Field& field : type_of<Secret>().fields)
      if (field.name == "name") return field.pattern;
    return "";
  }
  static std::string path_schema(std::string_view name) {
    if (name == "digest") return R"({"type":"string","pattern":"^sha256:[0-9a-f]{64}$"})";
    if (name == "alias")
      return format(R"({{"type":"string","maxLength":{},"pattern":{}}})",
                    control::kLongestVersionWord, whole(control::kVersionWord));
    if (name == "secret")
      return R"({"type":"string","pattern":)" + whole(pattern_of_secret()) + "}";
    if (name == "path") return format(R"({{"type":"string","pattern":{}}})", whole(kPlainPath));
    return R"({"type":"string","minLength":1})";
  }

  static std::string query_schema(const QueryField& field) {
    if (!field.schema.empty()) return std::string(field.schema);
    switch (field.kind) {
      case Kind::integer:
        if (field.least && field.most)
          return format(R"({{"type":"integer","minimum":{},"maximum":{}}})", *field.least,
                        *field.most);
        return R"({"type":"integer"})";
      case Kind::boolean:
        return R"({"type":"boolean"})";
      case Kind::time:
        return R"({"type":"string","format":"date-time"})";
      default:
        return field.required ? R"({"type":"string","minLength":1})" : R"({"type":"string"})";
    }
  }

  static std::string parameters(const Route& route) {
    std::string out;
    const auto add = [&](std::string_view name, std::string_view in, std::string_view doc,
                         std::string_view schema, bool required) {
      out +=
          format(R"({}{{"name":{},"in":"{}","description":{},"required":{},"schema":{}}})",
                 out.empty() ? "" : ",", json_quote(name), in, json_quote(doc), required, schema);
    };
    for (std::string_view part : split(route.path, '/')) {
      if (!part.starts_with('{')) continue;
      part = part.substr(1, part.size() - (part.ends_with("*}") ? 3 : 2));
      add(part, "path", "which", path_schema(part), true);
    }
    for (const QueryField& field : route.query_fields) {
      add(field.name, field.in_header ? "header" : "query", field.doc, query_schema(field),
          field.required);
    }
    if (route.creates)
      add("Idempotency-Key", "header", "the same key gives the same answer for a day",
          R"({"type":"string","minLength":1,"maxLength":255})", false);
    if (route.has_version && route.method != "GET")
      add("If-Match", "header", "ETag of the version to change",
          R"({"type":"string","pattern":"^\"?[0-9]{1,18}\"?$"})", false);
    return out;
  }

  static std::string_view schema_of_bytes(std::string_view type) {
    // Neither the events of a stream nor a file of any type have a schema that could be given.
    if (type == "text/event-stream" || type == "*/*") return "{}";
    if (type == "application/json") return R"({"schema":{"type":"object"}})";
    return R"({"schema":{"type":"string"}})";
  }

  std::string responses(const Route& route) {
    std::string content;
    if (route.answer != nullptr) {
      const bool partial =
          std::any_of(route.query_fields.begin(), route.query_fields.end(),
                      [](const QueryField& field) { return field.name == "fields"; });
      const std::string whole = reference(*route.answer, SchemaFor::output);
      const std::string item =
          partial ? format(R"({{"anyOf":[{},{{"type":"object","description":"with `fields`: )"
                           R"(these members alone"}}]}})",
                           whole)
                  : whole;
      const std::string schema =
          route.list ? format(R"({{"type":"object","required":["items"],"properties":{{)"
                              R"("items":{{"type":"array",)"
                              R"("items":{}}},"next_cursor":{{"type":"string"}}}}}})",
                              item)
                     : item;
      content = format(R"("application/json":{{"schema":{}}})", schema);
    }
    if (!route.answer_type.empty()) {
      content += format("{}{}:{}", content.empty() ? "" : ",", json_quote(route.answer_type),
                        schema_of_bytes(route.answer_type));
    }
    std::string out = format(R"("{}":{{"description":"done")", route.status);
    if (!content.empty()) out += format(R"(,"content":{{{}}})", content);
    out += "}";
    // What any route may answer; named so that clients know each.
    for (const int status : {400, 401, 403, 404, 408, 409, 410, 412, 413, 429, 503})
      out += format(R"(,"{}":{{"$ref":"#/components/responses/Problem"}})", status);
    out += R"(,"default":{"$ref":"#/components/responses/Problem"})";
    return out;
  }

  struct Wanted {
    std::set<const Type*> seen;
    std::vector<const Type*> types;
  };
  Wanted input_, output_;
};

}  // namespace

std::string openapi_document() {
  return Document().write();
}

}  // namespace hearth::api
