#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "api/route.h"
#include "domain/codec.h"

namespace hearth::api {
namespace {

TEST(OpenApi, TheCheckedInCopyIsTheTables) {
  std::ifstream file(HEARTH_SOURCE_DIR "/api/openapi.json");
  std::ostringstream text;
  text << file.rdbuf();
  // `hearth openapi > api/openapi.json` writes it anew; the change is then seen in review.
  EXPECT_TRUE(text.str() == openapi_document() + "\n") << "api/openapi.json is not the table's";
}

TEST(OpenApi, EveryRouteHasAnIdOfItsOwnAndWords) {
  std::set<std::string_view> ids;
  for (const auto& route : route_table().routes()) {
    EXPECT_TRUE(ids.insert(route->id).second) << route->id;
    EXPECT_FALSE(route->summary.empty()) << route->id;
    EXPECT_TRUE(route->handler) << route->id;
  }
}

TEST(OpenApi, EveryReferenceIsThere) {
  const std::string document = openapi_document();
  const auto root = parse_json(document, 64 << 20);
  ASSERT_TRUE(root.ok()) << root.error().text();
  const Node* schemas = root->find("components")->find("schemas");
  ASSERT_NE(schemas, nullptr);
  constexpr std::string_view prefix = "\"#/components/schemas/";
  for (size_t at = document.find(prefix); at != std::string::npos;
       at = document.find(prefix, at + 1)) {
    const size_t begin = at + prefix.size();
    const std::string name = document.substr(begin, document.find('"', begin) - begin);
    EXPECT_NE(schemas->find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace hearth::api
