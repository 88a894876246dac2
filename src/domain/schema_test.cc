#include "domain/schema.h"

#include <set>

#include <gtest/gtest.h>

#include "domain/job_spec.h"

namespace hearth {
namespace {

Node parsed(const std::string& json) {
  const auto node = parse_json(json);
  EXPECT_TRUE(node.ok()) << json;
  return node.ok() ? *node : Node{};
}

void collect_refs(const Node& node, std::set<std::string>& refs) {
  for (const Node::Member& member : node.members) {
    if (member.key == "$ref") refs.insert(member.value.text);
    collect_refs(member.value, refs);
  }
  for (const Node& item : node.items) collect_refs(item, refs);
}

TEST(Schema, TheJobFileIsWhole) {
  const Node schema = parsed(job_file_schema());
  EXPECT_EQ(schema.find("$schema")->text, "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema.find("properties")->members.size(), type_of<JobSpec>().fields.size());
  std::set<std::string> refs;
  collect_refs(schema, refs);
  EXPECT_GE(refs.size(), 12U);
  for (const std::string& ref : refs) {
    ASSERT_TRUE(ref.starts_with("#/$defs/")) << ref;
    EXPECT_NE(schema.find("$defs")->find(ref.substr(8)), nullptr) << ref;
  }
}

TEST(Schema, TellsBoundsPatternsAndShorthands) {
  const std::function<void(const Type&)> need = [](const Type&) {};
  const Node job = parsed(json_schema(type_of<JobSpec>(), SchemaFor::input, "#/x/", need));
  const Node* priority = job.find("properties")->find("priority");
  EXPECT_EQ(to_json(*priority),
            R"({"type":"integer","format":"int64","minimum":0,"maximum":100,)"
            R"("description":"higher starts earlier","default":50,"examples":[50]})");
  EXPECT_EQ(to_json(*job.find("required")), R"(["hearth","name"])");
  const Node param = parsed(json_schema(type_of<Param>(), SchemaFor::input, "#/x/", need));
  EXPECT_EQ(to_json(param.find("anyOf")->items[0]), R"({"type":["string","number","boolean"]})");
  EXPECT_EQ(to_json(param.find("anyOf")->items[1]), R"({"type":"array"})");
  const Node environment =
      parsed(json_schema(type_of<Environment>(), SchemaFor::input, "#/x/", need));
  EXPECT_EQ(environment.find("anyOf")->items[1].find("maxProperties")->text, "1");
}

TEST(Schema, OutputNamesWhatIsAlwaysThere) {
  const std::function<void(const Type&)> need = [](const Type&) {};
  const Node out = parsed(json_schema(type_of<Retries>(), SchemaFor::output, "#/x/", need));
  EXPECT_EQ(to_json(*out.find("required")), R"(["limit"])");
  EXPECT_EQ(out.find("additionalProperties"), nullptr);
}

TEST(Schema, MakesTables) {
  const std::string table = markdown_table(type_of<Retries>());
  EXPECT_EQ(table,
            "| field | type | default | meaning |\n|---|---|---|---|\n"
            "| `limit` | whole number from 0 to 100 | `3` | how often at most. Example: `2` |\n"
            "| `for` | list: `exit`, `signal`, `oom`, `time_limit`, `start`, `node`, `preemption`, "
            "`disk`, `lost`, `cancelled`, up to 10 items | `[\"node\",\"preemption\",\"lost\"]` | "
            "classes of failure that are tried again. Example: `[node, preemption, lost]` |\n");
}

}  // namespace
}  // namespace hearth
