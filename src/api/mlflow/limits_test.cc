#include "api/mlflow/limits.h"

#include <gtest/gtest.h>

#include "api/mlflow/arguments.h"
#include "api/mlflow/face.h"
#include "api/mlflow/paging.h"

namespace hearth::api::mlflow {
namespace {

TEST(MlflowLimits, Keys) {
  for (const char* good : {"loss", "val/loss", "a b", "a:b", "a.b-c_d", "\xc3\xa4"})
    EXPECT_TRUE(check_key(good, "key").ok()) << good;
  for (const char* bad : {"../x", "/x", "a//b", "a/./b", ".", "a/../b", "x?", "x/", "a\nb"})
    EXPECT_FALSE(check_key(bad, "key").ok()) << bad;
  EXPECT_TRUE(check_key(std::string(250, 'a'), "key").ok());
  EXPECT_FALSE(check_key(std::string(251, 'a'), "key").ok());
}

TEST(MlflowLimits, CutsByCharacters) {
  EXPECT_EQ(cut("abc", 2), "ab");
  EXPECT_EQ(cut("\xc3\xa4\xc3\xa4\xc3\xa4", 2), "\xc3\xa4\xc3\xa4");
  EXPECT_EQ(cut("abc", 3), "abc");
}

TEST(MlflowLimits, Paths) {
  EXPECT_EQ(safe_path("a/b.txt").value(), "a/b.txt");
  EXPECT_EQ(safe_path("./a//b/").value(), "a/b");
  EXPECT_EQ(safe_path("").value(), "");
  EXPECT_EQ(safe_path("dog%step%100").value(), "dog%step%100");
  for (const char* bad : {"../a", "a/../b", "/a", "a\\b", "a#b", "%2e%2e/a", "%252e%252e%252fa",
                          "..%2fa", "C:/a", "file:///a", "a%00b", "%2fetc"})
    EXPECT_FALSE(safe_path(bad).ok()) << bad;
}

TEST(MlflowLimits, Aliases) {
  EXPECT_TRUE(check_alias("champion-2").ok());
  for (const char* bad : {"latest", "LATEST", "v1", "V22", "", "a b", "a/b"})
    EXPECT_FALSE(check_alias(bad).ok()) << bad;
  EXPECT_TRUE(check_alias("v1a").ok());
}

Arguments arguments(const std::string& body, const std::string& query = "") {
  net::Request request;
  request.body = body;
  request.query = query;
  auto made = Arguments::of(request);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return std::move(made).value();
}

TEST(MlflowArguments, TypesAreKept) {
  const Arguments a = arguments(R"({"name": 123, "step": "5", "on": true, "none": null})");
  EXPECT_NE(a.fields().text("name").error().detail.find("Invalid value 123 for parameter 'name'"),
            std::string::npos);
  EXPECT_EQ(a.fields().integer("step").value(), 5);
  EXPECT_TRUE(a.fields().boolean("on").value());
  EXPECT_EQ(a.fields().text("none").value(), "");
  EXPECT_NE(a.fields().need_text("none").error().detail.find(
                "Missing value for required parameter 'none'"),
            std::string::npos);
}

TEST(MlflowArguments, TwiceEncodedAndQueries) {
  EXPECT_EQ(arguments(R"("{\"name\": \"x\"}")").fields().text("name").value(), "x");
  const Arguments query = arguments("", "run_id=a&run_id=b&key=x%20y&max_results=7");
  EXPECT_EQ(query.fields().texts("run_id").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(query.fields().texts("key").value(), std::vector<std::string>{"x y"});
  EXPECT_EQ(query.fields().text("key").value(), "x y");
  EXPECT_EQ(query.fields().integer("max_results").value(), 7);
  net::Request broken;
  broken.body = "[1]";
  EXPECT_FALSE(Arguments::of(broken).ok());
}

TEST(MlflowArguments, NestedNames) {
  const Arguments a = arguments(R"({"metrics": [{"key": "k"}, {"key": 5}]})");
  const auto metrics = a.fields().objects("metrics").value();
  EXPECT_NE(metrics[0].need_integer("timestamp").error().detail.find("'metrics[0].timestamp'"),
            std::string::npos);
  EXPECT_NE(metrics[1].need_text("key").error().detail.find("'metrics[1].key'"), std::string::npos);
  EXPECT_FALSE(arguments(R"({"metrics": "foo"})").fields().objects("metrics").ok());
}

TEST(MlflowPages, GoOnBehindTheLastItem) {
  const std::vector<std::string> all{"a", "b", "c", "d", "e"};
  const auto self = [](const std::string& item) { return item; };
  auto first = page_of(all, "", 2, self).value();
  EXPECT_EQ(first.items, (std::vector<std::string>{"a", "b"}));
  // What came in front meanwhile repeats nothing, what went skips nothing.
  const std::vector<std::string> grown{"0", "a", "b", "c", "d", "e"};
  auto second = page_of(grown, first.next_token, 3, self).value();
  EXPECT_EQ(second.items, (std::vector<std::string>{"c", "d", "e"}));
  EXPECT_EQ(second.next_token, "");
  EXPECT_EQ(
      page_of(std::vector<std::string>{"a", "c", "d"}, first.next_token, 9, self).value().items,
      std::vector<std::string>{"d"});
  EXPECT_FALSE(page_of(all, "no token", 2, self).ok());
}

TEST(MlflowFace, Paths) {
  EXPECT_EQ(canonical_path("/ajax-api/2.0/mlflow/runs/get"), "/api/2.0/mlflow/runs/get");
  EXPECT_EQ(canonical_path("//model-versions/get-artifact"), "/model-versions/get-artifact");
  EXPECT_FALSE(canonical_path("/api/v1/jobs"));
  EXPECT_FALSE(canonical_path("/healthz"));
  EXPECT_EQ(canonical_path("/health"), "/health");
}

}  // namespace
}  // namespace hearth::api::mlflow
