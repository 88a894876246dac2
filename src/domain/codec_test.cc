#include "domain/codec.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

enum class Colour { red, green };
struct Inner {
  std::string name = "inner";
  int64_t count = 2;
  bool operator==(const Inner&) const = default;
};
struct Short {
  std::string text;
  std::vector<std::string> words;
  bool loud = false;
  bool operator==(const Short&) const = default;
};
struct Outer {
  std::string id;
  std::string name;
  int small = 0;
  double real = 0;
  bool flag = false;
  Colour colour = Colour::red;
  Time at;
  Size size;
  Span span;
  AnyJson any;
  std::optional<std::string> note;
  std::vector<std::string> list{"a"};
  std::map<std::string, Inner> map;
  Inner inner{.name = "outer's"};
  Short command;
  std::string password;
  bool operator==(const Outer&) const = default;
};

}  // namespace

template <>
struct Words<Colour> {
  static constexpr std::string_view name = "Colour";
  static constexpr std::array<std::string_view, 2> words{"red", "green"};
};
template <>
struct Describe<Inner> {
  static constexpr std::string_view name = "Inner";
  static constexpr std::string_view doc = "Inside.";
  static void fields(Fields<Inner>& f) {
    f("name", &Inner::name, "its name");
    f("count", &Inner::count, "how many").min(0).max(10);
  }
};
template <>
struct Describe<Short> {
  static constexpr std::string_view name = "Short";
  static constexpr std::string_view doc = "With shorthands.";
  static void fields(Fields<Short>& f) {
    f("text", &Short::text, "as text").max(100);
    f.scalar_stands_for_last();
    f("words", &Short::words, "as words");
    f.list_stands_for_last();
    f("loud", &Short::loud, "how");
  }
};
template <>
struct Describe<Outer> {
  static constexpr std::string_view name = "Outer";
  static constexpr std::string_view doc = "All kinds.";
  static void fields(Fields<Outer>& f) {
    f("id", &Outer::id, "given by the server").output_only();
    f("name", &Outer::name, "its name").required().matches("[a-z][a-z0-9]{0,7}", "a short name");
    f("small", &Outer::small, "an int");
    f("real", &Outer::real, "a real");
    f("flag", &Outer::flag, "a flag");
    f("colour", &Outer::colour, "a colour");
    f("at", &Outer::at, "a time");
    f("size", &Outer::size, "a size").min(4);
    f("span", &Outer::span, "a span");
    f("any", &Outer::any, "anything");
    f("note", &Outer::note, "maybe");
    f("list", &Outer::list, "texts").max(3);
    f("map", &Outer::map, "things by name").matches("[a-z]+", "small letters");
    f("inner", &Outer::inner, "inside");
    f("command", &Outer::command, "to run");
    f("password", &Outer::password, "hidden").secret().min(8);
  }
};

namespace {

std::string errors_of(std::string_view yaml, Origin origin = Origin::client) {
  const auto node = parse_yaml(yaml);
  if (!node.ok()) return node.error().text();
  const auto value = from_node<Outer>(*node, origin);
  return value.ok() ? "" : value.error().text();
}

TEST(Codec, JsonAndYamlGiveTheSameTree) {
  const auto json = parse_json("{\n \"a\": [1, 2.5, \"x\"],\n \"b\": null\n}");
  ASSERT_TRUE(json.ok()) << json.error().text();
  EXPECT_EQ(json->find("b")->line, 3);
  const auto yaml = parse_yaml("a: [1, 2.5, \"x\"]\nb:\n");
  ASSERT_TRUE(yaml.ok()) << yaml.error().text();
  EXPECT_EQ(yaml->find("b")->line, 2);
  EXPECT_EQ(to_json(*json), to_json(*yaml));
}

TEST(Codec, DecodesEveryKind) {
  const auto node = parse_yaml(
      "name: abc\nsmall: '7'\nreal: 1e-3\nflag: true\ncolour: green\nat: 2026-11-20T05:37:58Z\n"
      "size: 1.5KiB\nspan: 10m\nany: {x: [0x10, no, .inf]}\nnote: 12\nlist: [1, yes]\n"
      "map: {k: {count: 3}}\ninner: {count: 4}\ncommand: [run, 3]\npassword: longenough\n");
  ASSERT_TRUE(node.ok()) << node.error().text();
  const auto value = from_node<Outer>(*node, Origin::client);
  ASSERT_TRUE(value.ok()) << value.error().text();
  EXPECT_EQ(value->small, 7);
  EXPECT_EQ(value->real, 1e-3);
  EXPECT_EQ(value->colour, Colour::green);
  EXPECT_EQ(value->size.bytes, 1536);
  EXPECT_EQ(value->span.duration, Duration::seconds(600));
  EXPECT_EQ(value->any.text, R"({"x":[16,"no","Infinity"]})");
  EXPECT_EQ(value->note, "12");
  EXPECT_EQ(value->list, (std::vector<std::string>{"1", "yes"}));
  EXPECT_EQ(value->inner, (Inner{"outer's", 4}));
  EXPECT_EQ(value->command.words, (std::vector<std::string>{"run", "3"}));
  const std::string json = to_json(*value);
  EXPECT_EQ(json, R"({"name":"abc","small":7,"real":0.001,"flag":true,"colour":"green",)"
                  R"("at":"2026-11-20T05:37:58.000000Z","size":"1536B","span":"10m",)"
                  R"("any":{"x":[16,"no","Infinity"]},"note":"12","list":["1","yes"],)"
                  R"("map":{"k":{"name":"inner","count":3}},"inner":{"name":"outer's","count":4},)"
                  R"("command":["run","3"]})");
}

TEST(Codec, TellsAllErrorsAtOnce) {
  EXPECT_EQ(errors_of("id: x\nsmal: 1\nreal: fast\nsize: 12\nmap: {K: {count: 11}}\n"
                      "list: [a, b, c, d]\ninner: 3\ncommand: {loud: 1}\npassword: short\n"),
            "the input has 11 mistakes (mend each of the places named)\n"
            "  line 1: id: found 'x' (text), allowed: nothing: the server sets this field; leave "
            "it out\n"
            "  line 2: smal: found the unknown field 'smal', allowed: the fields id, name, small, "
            "real, flag, colour, at, size, span, any, note, list, map, inner, command, password; "
            "did you mean 'small'?\n"
            "  line 3: real: found 'fast' (text), allowed: a number; write, for example, 1\n"
            "  line 4: size: found 12 (a whole number), allowed: a size with its unit from 4B; "
            "write the unit, such as 12GiB\n"
            "  line 5: map.K: found the name 'K', allowed: small letters; choose another name\n"
            "  line 5: map.K.count: found 11 (a whole number), allowed: a whole number from 0 to "
            "10; write, for example, 1\n"
            "  line 6: list: found a list of 4 items, allowed: a list, each item text (up to 3 "
            "items); change the number of items\n"
            "  line 7: inner: found 3 (a whole number), allowed: a map with the fields name, "
            "count; write, for example, {count: 1}\n"
            "  line 8: command.loud: found 1 (a whole number), allowed: true or false; write, for "
            "example, true\n"
            "  line 9: password: found a value that is not shown, allowed: text (from 8 "
            "characters); give a value of this form\n"
            "  line 1: name: found nothing, allowed: a short name; add the field 'name'");
}

TEST(Codec, JsonKeepsItsTypes) {
  EXPECT_TRUE(from_json<Outer>(R"({"name":"a","real":"NaN","small":3.0})", Origin::client).ok());
  EXPECT_FALSE(from_json<Outer>(R"({"name":"a","small":"3"})", Origin::client).ok());
  EXPECT_FALSE(from_json<Outer>(R"({"name":3})", Origin::client).ok());
  EXPECT_FALSE(from_json<Outer>(R"({"name":"a","note":null})", Origin::client).ok());
  EXPECT_FALSE(from_json<Outer>(R"({"name":"a","small":2147483648})", Origin::client).ok());
}

TEST(Codec, PassesOverWhatANewerServerTells) {
  const auto value = from_json<Outer>(R"({"id":"x","name":"a","later":{"b":1}})");
  ASSERT_TRUE(value.ok()) << value.error().text();
  EXPECT_EQ(value->id, "x");
}

TEST(Codec, DefaultsThatAreNotEmptySurviveBeingEmptied) {
  Outer value{.name = "a"};
  value.list.clear();
  value.inner.name.clear();
  const auto back = from_json<Outer>(to_json(value));
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(*back, value);
}

TEST(Codec, WritesTextSafely) {
  EXPECT_EQ(json_quote("a\"\\\n\t\x01é"), "\"a\\\"\\\\\\n\\t\\u0001é\"");
  EXPECT_EQ(json_quote("\xff"), "\"\xEF\xBF\xBD\"");
}

TEST(Json, Refuses) {
  for (const auto* text : {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "1 2", "{}\n{}", "\"\xff\"", "nul",
                           "[1\n,\n2", "\"a\nb\""})
    EXPECT_FALSE(parse_json(text).ok()) << text;
  const std::string deep(65, '[');
  const auto too_deep = parse_json(deep + std::string(65, ']'));
  ASSERT_FALSE(too_deep.ok());
  EXPECT_EQ(too_deep.error().errors.at(0).found, "nesting deeper than 64 levels");
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(parse_json("[]   ", 4).error().code, Code::too_large);
}

TEST(Json, NamesLineAndColumn) {
  const auto node = parse_json("{\n  \"a\": 1,\n  \"b\": oops\n}");
  ASSERT_FALSE(node.ok());
  const FieldError& error = node.error().errors.at(0);
  EXPECT_EQ(error.line, 3);
  EXPECT_EQ(error.path, "b");
  EXPECT_EQ(error.found, "'oops }'");
  EXPECT_EQ(error.mend, "mend the text at column 8");
}

TEST(Yaml, Refuses) {
  for (const auto* text : {"a: &x 1\nb: *x",
                           "a: !!int 3",
                           "a: ! 3",
                           "a: !t",
                           "a: 1\n---\nb: 2",
                           "a: 1\na: 2",
                           "{[a]: 1}",
                           "? {a: b}\n: c",
                           ": 1",
                           "a: [",
                           "a: 'x",
                           "\tb: 1",
                           "a: b: c",
                           "a: \x04",
                           "a: \xff",
                           "- a\nb: 1",
                           "&a",
                           "!x",
                           "a: &b",
                           "*x"})
    EXPECT_FALSE(parse_yaml(text).ok()) << text;
  EXPECT_FALSE(parse_yaml(std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_FALSE(parse_yaml(std::string(100'000, '[')).ok());
  EXPECT_TRUE(parse_yaml(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(parse_yaml(std::string(kMostDocumentBytes + 1, ' ')).error().code, Code::too_large);
  EXPECT_EQ(parse_yaml("a: 12", 4).error().code, Code::too_large);
  EXPECT_TRUE(parse_yaml("a: 12", 5).ok());
}

TEST(Yaml, NamesEachTwin) {
  const auto node = parse_yaml("a:\n  b: 1\n  b: 2\nc: [{d: 1, d: 2}]\n");
  ASSERT_FALSE(node.ok());
  ASSERT_EQ(node.error().errors.size(), 2U);
  EXPECT_EQ(node.error().errors[0].path, "a.b");
  EXPECT_EQ(node.error().errors[0].line, 3);
  EXPECT_EQ(node.error().errors[1].path, "c[0].d");
}

TEST(Yaml, CoreSchema) {
  const auto node = parse_yaml(
      "[~, null, true, no, on, yes, 12, -3, 0o17, 0x1F, 1.5, .5, 1e3, -.inf, .nan, 1_000, 12:30, "
      "'3', 0b1, +5, 007, 1., Infinity]");
  ASSERT_TRUE(node.ok()) << node.error().text();
  EXPECT_EQ(to_json(*node),
            R"([null,null,true,"no","on","yes",12,-3,15,31,1.5,0.5,1e3,"-Infinity","NaN","1_000",)"
            R"("12:30","3","0b1",5,7,1.0,"Infinity"])");
}

// Digests may look like numbers that nothing can read back.
TEST(Yaml, NumbersThatNoJsonHoldsAreTexts) {
  const auto node = parse_yaml(
      "[00000001480004674407e70955160001415, 1e9999999999, 1e999999999, 1e-999999999, "
      "1.5e0000000000001]");
  ASSERT_TRUE(node.ok()) << node.error().text();
  const std::string json = to_json(*node);
  EXPECT_EQ(json,
            R"(["00000001480004674407e70955160001415","1e9999999999",1e999999999,1e-999999999,)"
            R"(1.5e0000000000001])");
  const auto again = parse_json(json);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(to_json(*again), json);
}

}  // namespace
}  // namespace hearth
