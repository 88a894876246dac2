#include "api/mlflow/filter.h"

#include <gtest/gtest.h>

namespace hearth::api::mlflow {
namespace {

using control::Compare;
using control::Comparison;
using control::Side;

Comparison one(std::string_view text, Noun noun = Noun::run) {
  auto filter = parse_filter(text, noun);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.error().text();
  if (!filter.ok() || filter->size() != 1) return {};
  return filter->front();
}

std::string refused(std::string_view text, Noun noun = Noun::run) {
  const auto filter = parse_filter(text, noun);
  EXPECT_FALSE(filter.ok()) << text;
  return filter.ok() ? "" : filter.error().text();
}

TEST(MlflowFilter, EmptyMatchesAll) {
  EXPECT_TRUE(parse_filter("", Noun::run)->empty());
  EXPECT_TRUE(parse_filter("  \n", Noun::experiment)->empty());
}

TEST(MlflowFilter, Sides) {
  EXPECT_EQ(one("metrics.loss < 0.5").column.side, Side::metric);
  EXPECT_EQ(one("metric.loss < 0.5").number, 0.5);
  EXPECT_EQ(one("params.lr = '0.1'").column.side, Side::param);
  EXPECT_EQ(one("parameter.lr = \"0.1\"").text, "0.1");
  EXPECT_EQ(one("tags.a.b = 'x'").column.key, "a.b");  // split at the first dot
  EXPECT_EQ(one("tag.`my key` != 'x'").column.key, "my key");
  EXPECT_EQ(one("params.\"a = b\" LIKE '%x%'").column.key, "a = b");
  EXPECT_EQ(one("status = 'FINISHED'").column.side, Side::attribute);
  EXPECT_EQ(one("attributes.`Run Name` = 'x'").column.key, "run_name");
  EXPECT_EQ(one("created > 5").column.key, "start_time");
  EXPECT_EQ(one("datasets.name in ('a')").column.side, Side::dataset);
}

TEST(MlflowFilter, Operators) {
  EXPECT_EQ(one("metrics.x >= 1e3").op, Compare::greater_equal);
  EXPECT_EQ(one("metrics.x<=-2").number, -2);
  EXPECT_EQ(one("params.x ilike 'A%'").op, Compare::ilike);
  const auto in = one("attributes.run_id NOT IN ('a', \"b\",'c')");
  EXPECT_EQ(in.op, Compare::not_in);
  EXPECT_EQ(in.list, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(one("params.x = 'it''s'").text, "it's");
  EXPECT_EQ(parse_filter("metrics.a > 1 and params.b = 'x' AND tags.c != 'y'", Noun::run)->size(),
            3U);
}

TEST(MlflowFilter, RefusesInWords) {
  EXPECT_NE(refused("metrics.x = 'a'").find("numeric value"), std::string::npos);
  EXPECT_NE(refused("params.x = 5").find("quoted string value"), std::string::npos);
  EXPECT_NE(refused("params.x < '5'").find("Invalid comparator '<'"), std::string::npos);
  EXPECT_NE(refused("metrics.x LIKE '5'").find("Invalid comparator"), std::string::npos);
  EXPECT_NE(refused("status IN ('a')").find("Invalid comparator"), std::string::npos);
  EXPECT_NE(refused("stats.x = '5'").find("Invalid entity type 'stats'"), std::string::npos);
  EXPECT_NE(refused("colour = '5'").find("Invalid attribute key 'colour'"), std::string::npos);
  EXPECT_NE(refused("metrics.x = 1 OR metrics.y = 2").find("OR is not known"), std::string::npos);
  EXPECT_NE(refused("metrics.x = 1; DROP").find("column 14"), std::string::npos);
  EXPECT_NE(refused("params.x = 'a").find("not closed"), std::string::npos);
  EXPECT_NE(refused("run_id IN ()").find("text in quotes"), std::string::npos);
  EXPECT_NE(refused("datasets.size = 'a'").find("dataset attribute"), std::string::npos);
  EXPECT_FALSE(refused("metrics.x").empty());
  EXPECT_FALSE(refused("metrics.x =").empty());
  EXPECT_FALSE(refused("(metrics.x = 1)").empty());
  EXPECT_FALSE(refused(std::string(kMostSearchBytes + 1, 'a')).empty());
  EXPECT_FALSE(refused("params.x = '\xff'").empty());
}

TEST(MlflowFilter, NounsHaveTheirOwn) {
  EXPECT_EQ(one("name = 'a'", Noun::experiment).column.key, "name");
  refused("name = 'a'", Noun::run);
  refused("metrics.a = 1", Noun::registered_model);
  EXPECT_EQ(one("version_number > 3", Noun::model_version).number, 3);
  EXPECT_EQ(one("run_id IN ('a')", Noun::model_version).op, Compare::in);
  EXPECT_EQ(one("metrics.acc > 0.9", Noun::logged_model).column.side, Side::metric);
  refused("metric.acc > 0.9", Noun::logged_model);  // plural words alone
}

TEST(MlflowOrder, Items) {
  const auto order = parse_order({"metrics.`a b` DESC", "params.x", "start_time asc"}, Noun::run);
  ASSERT_TRUE(order.ok()) << order.error().text();
  EXPECT_EQ(order->at(0).column.key, "a b");
  EXPECT_TRUE(order->at(0).descending);
  EXPECT_FALSE(order->at(1).descending);
  EXPECT_FALSE(order->at(2).descending);
  EXPECT_FALSE(parse_order({"metrics.x", "metrics.x DESC"}, Noun::run).ok());
  EXPECT_FALSE(parse_order({"metrics.x DOWN"}, Noun::run).ok());
  EXPECT_FALSE(parse_order({""}, Noun::run).ok());
}

TEST(MlflowHolds, AbsentNeverMatches) {
  EXPECT_FALSE(holds(one("tags.x != 'a'"), std::optional<std::string>()));
  EXPECT_FALSE(holds(one("metrics.x != 1"), std::optional<double>()));
  EXPECT_TRUE(holds(one("tags.x != 'a'"), std::optional<std::string>("b")));
  EXPECT_TRUE(holds(one("metrics.x >= 1"), std::optional(1.0)));
}

}  // namespace
}  // namespace hearth::api::mlflow
