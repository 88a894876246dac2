#include "domain/filter.h"

#include <map>

#include <gtest/gtest.h>

#include "base/format.h"
#include "domain/project.h"

namespace hearth {
namespace {

using Row = std::map<std::string, std::string>;

bool finds(const std::string& text, const Row& row) {
  const auto filter = parse_filter(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.error().text();
  if (!filter.ok()) return false;
  const auto look = [&](const std::string& field) -> std::optional<std::string> {
    const auto it = row.find(field);
    return it == row.end() ? std::nullopt : std::optional(it->second);
  };
  const bool found = matches(*filter, look);
  const auto again = parse_filter(to_text(*filter));
  EXPECT_TRUE(again.ok()) << to_text(*filter);
  EXPECT_EQ(matches(*again, look), found) << text << " became " << to_text(*filter);
  EXPECT_EQ(to_text(*again), to_text(*filter));
  return found;
}

const Row kRow{{"state", "running"},
               {"params.lr", "1e-2"},
               {"name", "fashion-cnn-7"},
               {"owner", "ann"},
               {"created_at", "2026-11-20T05:37:58.272187Z"},
               {"loss", "NaN"},
               {"title", "it's a \"b\" \\ and more"},
               {"big", "12345678901"},
               {"metrics.val/acc", "0.9"}};

TEST(Filter, Finds) {
  for (const auto* text : {"",
                           "  ",
                           "state = running",
                           "state == running",
                           "state='running'",
                           "state = running and params.lr < 0.1 and name ~ cnn",
                           "params.lr = 0.01",
                           "params.lr <= .01",
                           "not state = queued",
                           "state in (queued, running)",
                           "state not in (queued)",
                           "params.lr in (7, 1e-2)",
                           "params.lr not in (x, 0.1)",
                           "loss in (1, NaN)",
                           "not (x = 1)",
                           "x != 1 or owner = ann",
                           "created_at > 2026-11-01",
                           "loss = NaN",
                           "title ~ \"\\\"b\\\" \\\\ and\"",
                           "title ~ 'it''s'",
                           "big > 9999999999",
                           "metrics.val/acc >= 0.9",
                           "\"owner\" = ann",
                           "(((owner = ann)))",
                           "owner = bob or owner = ann and state = running",
                           "NOT owner = bob AND state IN (running)"})
    EXPECT_TRUE(finds(text, kRow)) << text;
}

TEST(Filter, DoesNotFind) {
  for (const auto* text :
       {"state = queued", "x = 1", "x != 1", "x ~ a", "x in (1)", "not state = running",
        "params.lr > 0.01", "params.lr < 0.01", "owner in (bob, carl)", "state != running",
        "(owner = bob or owner = ann) and state = queued", "owner > bob"})
    EXPECT_FALSE(finds(text, kRow)) << text;
}

TEST(Filter, SaysWhereItIsWrong) {
  const std::map<std::string, std::string> cases = {
      {"state", "the end at column 6"},    {"state =", "the end at column 8"},
      {"state = a b", "'b' at column 11"}, {"= a", "'=' at column 1"},
      {"a ! b", "'!' at column 3"},        {"(a = b", "the end at column 7"},
      {"a = b)", "')' at column 6"},       {"a = 'b", "'b at column 5"},
      {"a = and", "'and' at column 5"},    {"a in b", "'b' at column 6"},
      {"a in ()", "')' at column 7"},      {"a in (b c)", "'c' at column 9"},
      {"a not = b", "'=' at column 7"},    {"a = b or", "the end at column 9"},
      {"and = b", "'and' at column 1"},
  };
  for (const auto& [text, found] : cases) {
    const auto filter = parse_filter(text);
    ASSERT_FALSE(filter.ok()) << text;
    const FieldError& error = filter.error().errors.at(0);
    EXPECT_EQ(error.found, found) << text;
    EXPECT_FALSE(error.allowed.empty()) << text;
    EXPECT_FALSE(error.mend.empty()) << text;
  }
}

TEST(Filter, IsBounded) {
  const auto nested = [](int n) {
    return std::string(static_cast<size_t>(n), '(') + "a = b" +
           std::string(static_cast<size_t>(n), ')');
  };
  EXPECT_TRUE(parse_filter(nested(kMostFilterDepth - 1)).ok());
  EXPECT_FALSE(parse_filter(nested(kMostFilterDepth)).ok());
  std::string nots;
  for (int i = 0; i < 1000; ++i) nots += "not ";
  EXPECT_FALSE(parse_filter(nots + "a = b").ok());
  EXPECT_FALSE(parse_filter("a = " + std::string(kMostFilterBytes, 'b')).ok());
}

TEST(Filter, KnowsItsFields) {
  const std::vector<std::string> known{"state", "name", "params.*"};
  EXPECT_TRUE(check_filter(*parse_filter("state = a and params.lr = 1"), known).ok());
  const auto wrong = check_filter(*parse_filter("not (stat = a)"), known);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().errors[0].mend, "did you mean 'state'?");
  EXPECT_FALSE(check_filter(*parse_filter("params. = 1"), known).ok());
}

TEST(Filter, TakesAnInstalledRegex) {
  set_filter_regex(
      [](std::string_view expression) -> Result<std::function<bool(std::string_view)>> {
        if (expression == "(") return Error::invalid("missing )");
        return std::function<bool(std::string_view)>(
            [wanted = std::string(expression)](std::string_view text) { return text == wanted; });
      });
  EXPECT_FALSE(finds("name ~ cnn", kRow));
  EXPECT_TRUE(finds("owner ~ ann", kRow));
  const auto wrong = parse_filter("owner ~ '('");
  EXPECT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().errors[0].found, "'(' at column 9");
  set_filter_regex(nullptr);
}

TEST(Order, Parses) {
  const std::vector<std::string> known{"created_at", "name"};
  const auto order = parse_order("created_at desc, name", known);
  ASSERT_TRUE(order.ok());
  ASSERT_EQ(order->size(), 2U);
  EXPECT_TRUE((*order)[0].descending);
  EXPECT_EQ((*order)[1].field, "name");
  EXPECT_TRUE(parse_order(" ", known)->empty());
  EXPECT_FALSE(parse_order("nam", known).ok());
  EXPECT_FALSE(parse_order("name up", known).ok());
  EXPECT_FALSE(parse_order("name,", known).ok());
  EXPECT_FALSE(parse_order(",name", known).ok());
}

TEST(Filter, WhatAFieldNeverHasIsAMistake) {
  Type type;
  type.kind = Kind::object;
  type.fields = {{.name = "role", .type = &type_of<Grade>()},
                 {.name = "at", .type = &type_of<Time>()},
                 {.name = "tries", .type = &type_of<int64_t>()},
                 {.name = "live", .type = &type_of<bool>()}};
  const auto said = [&](const std::string& text) {
    const auto checked = check_filter_values(*parse_filter(text), type);
    return checked.ok() ? "" : checked.error().errors[0].mend;
  };
  EXPECT_EQ(said("role = viewer or not role in (member, admin)"), "");
  EXPECT_EQ(said("role ~ view or other = x"), "");
  EXPECT_EQ(said("other = x and role in (viewer, membr)"), "did you mean 'member'?");
  EXPECT_EQ(said("role != qqqqqqqqqq"), "use one of these");
  EXPECT_EQ(said("at > 2026-11 and at <= 2026-11-22T08:00:00.5Z and at > 2026"), "");
  EXPECT_EQ(said("at != '' and tries != ''"), "");
  for (const char* wrong : {"yesterday", "20261122", "1763800000000", "2026-11-22T08:00:00+02:00",
                            "'2026-11-22 08:00'", "202"})
    EXPECT_EQ(said(format("at > {}", wrong)), "write it as 2026-11-22 or 2026-11-22T08:30");
  EXPECT_EQ(said("tries > 1 and tries in (2, 3e0) and tries ~ x"), "");
  EXPECT_EQ(said("tries > x"), "write a number");
  EXPECT_EQ(said("live = true"), "");
  EXPECT_EQ(said("live = yes"), "use one of these");
}

TEST(Order, TakesFieldsInQuotes) {
  const std::vector<std::string> known = {"name", "metrics.*"};
  const auto order =
      parse_order(R"("metrics.val loss, best" desc,'name' , "metrics.a ""b"" c" asc)", known);
  ASSERT_TRUE(order.ok()) << order.error().text();
  ASSERT_EQ(order->size(), 3U);
  EXPECT_EQ((*order)[0].field, "metrics.val loss, best");
  EXPECT_TRUE((*order)[0].descending);
  EXPECT_EQ((*order)[1].field, "name");
  EXPECT_EQ((*order)[2].field, "metrics.a \"b\" c");
  EXPECT_FALSE((*order)[2].descending);
  for (const std::string_view wrong : {R"("name)", R"("name" up)", R"("" desc)", R"("name"x)"})
    EXPECT_FALSE(parse_order(wrong, known).ok()) << wrong;
  const auto open = parse_order(R"(name, "metrics.a)", known);
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().text().find("column 7"), std::string::npos) << open.error().text();
}

TEST(FieldList, SaysWhatStandsBehindQuotes) {
  const auto list = parse_field_list(R"( params.my key ,"metrics.a:b":max,,)", "agg");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 4U);
  EXPECT_EQ((*list)[0].text, "params.my key");
  EXPECT_EQ((*list)[0].column, 2U);
  EXPECT_FALSE((*list)[0].is_quoted);
  EXPECT_EQ((*list)[1].text, "metrics.a:b");
  EXPECT_EQ((*list)[1].behind, ":max");
  EXPECT_TRUE((*list)[2].text.empty());
  EXPECT_TRUE(parse_field_list("  ", "agg")->empty());
}

}  // namespace
}  // namespace hearth
