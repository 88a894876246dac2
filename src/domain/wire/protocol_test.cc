#include "domain/wire/protocol.h"

#include <gtest/gtest.h>

#include "domain/codec.h"
#include "domain/wire/sync.h"
#include "domain/wire/task_spec.h"

namespace hearth {
namespace {

SyncHello hello(int64_t written, int64_t oldest, int64_t newest) {
  return {.protocol = written, .oldest_protocol = oldest, .newest_protocol = newest};
}

TEST(Protocol, TheNewestThatBothSpeakIsSpoken) {
  EXPECT_EQ(agree(hello(1, 1, 1), {1, 1}).value(), 1);
  EXPECT_EQ(agree(hello(1, 1, 3), {1, 2}).value(), 2);  // goes up
  EXPECT_EQ(agree(hello(2, 1, 2), {2, 9}).value(), 2);
  EXPECT_EQ(agree(hello(3, 2, 4), {1, 3}).value(), 3);
  EXPECT_EQ(agree(hello(4, 1, 4), {1, 4}).value(), 4);
  // A shim from before there were ranges speaks the one it writes in.
  EXPECT_EQ(agree(hello(1, 0, 0), {1, 3}).value(), 1);
}

TEST(Protocol, ARequestThatCannotBeReadIsRefusedThoughTheyWillAgree) {
  const auto refused = agree(hello(3, 1, 3), {1, 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_EQ(refused.error().detail,
            "this request is written in shim protocol 3, this server speaks 1 to 2");
  EXPECT_NE(refused.error().mend.find("comes to 2"), std::string::npos);
}

TEST(Protocol, NothingInCommonIsSaidWithTheMend) {
  const auto newer = agree(hello(3, 3, 4), {1, 2});
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Code::unsupported);
  EXPECT_EQ(newer.error().detail,
            "this task's shim speaks shim protocol 3 to 4, this server speaks 1 to 2");
  EXPECT_NE(newer.error().mend.find("or a newer one"), std::string::npos);
  const auto older = agree(hello(1, 0, 0), {2, 3});
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().detail,
            "this task's shim speaks shim protocol 1, this server speaks 2 to 3");
  EXPECT_NE(older.error().mend.find("down --drain"), std::string::npos);
}

TEST(Protocol, AnOrderIsReadInTheVersionsThatAreSpoken) {
  EXPECT_TRUE(check_order_protocol(kShimProtocol, kShimProtocols).ok());
  EXPECT_TRUE(check_order_protocol(1, {1, 2}).ok());
  EXPECT_NE(check_order_protocol(1, {2, 3}).error().mend.find("--drain"), std::string::npos);
  EXPECT_NE(check_order_protocol(4, {2, 3}).error().mend.find("newer"), std::string::npos);
}

// What a later version adds is passed over, by whoever reads it.
TEST(Protocol, UnknownFieldsArePassedOverBothWays) {
  const auto head = from_json<SyncHead>(
      R"({"protocol":1,"later":[{"a":1}],"epoch":2,"log_bytes":0,
          "states":[{"seq":1,"state":"running","later":{"b":null}}],
          "records":[{"seq":1,"kind":"metric","values":{"loss":1},"later":"x"}]})");
  ASSERT_TRUE(head.ok()) << head.error().text();
  EXPECT_EQ(head->epoch, 2);
  EXPECT_EQ(head->states.at(0).state, TaskState::running);
  EXPECT_EQ(head->records.at(0).values.at("loss"), 1);
  const auto answer = from_json<SyncAnswer>(
      R"({"protocol":7,"later":1,"acknowledged":{"state":3,"metrics":2,"log":1,"later":9},
          "stop":true,"stop_class":"of later","live":{"lr":{"value":0.5,"version":1,"later":1}}})");
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->acknowledged.state, 3);
  EXPECT_TRUE(answer->stop);
  EXPECT_EQ(answer->live.at("lr").value.text, "0.5");
  const auto order = from_json<TaskSpec>(
      R"({"protocol":2,"oldest_protocol":1,"task_id":"T","later":{},
          "resources":{"memory":"1GiB","later":2}})");
  ASSERT_TRUE(order.ok()) << order.error().text();
  EXPECT_EQ(order->protocol, 2);
  EXPECT_EQ(order->resources.memory.bytes, int64_t{1} << 30);
}

// The hello is the one part whose place and meaning never change.
TEST(Protocol, TheHelloIsReadOutOfAnythingThatFollows) {
  const auto found = from_json<SyncHello>(
      R"({"protocol":9,"oldest_protocol":8,"newest_protocol":9,"epoch":"text","states":7})");
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(*found, hello(9, 8, 9));
}

}  // namespace
}  // namespace hearth
