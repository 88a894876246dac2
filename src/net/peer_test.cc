#include "net/peer.h"

#include <gtest/gtest.h>

namespace hearth::net {
namespace {

Networks networks(const std::vector<std::string>& blocks) {
  auto parsed = Networks::parse(blocks);
  EXPECT_TRUE(parsed.ok());
  return parsed.ok() ? *parsed : Networks();
}
Address address(std::string_view text) {
  const auto parsed = Address::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Address());
}

TEST(Address, ParsesAndPrints) {
  EXPECT_EQ(address("127.0.0.1").text(), "127.0.0.1");
  EXPECT_EQ(address("0:0:0:0:0:0:0:1").text(), "::1");
  EXPECT_EQ(address("::ffff:10.1.2.3").text(), "10.1.2.3");
  EXPECT_EQ(address("::ffff:10.1.2.3"), address("10.1.2.3"));
  for (const char* bad : {"", "1.2.3", "localhost", "1.2.3.4:5", "[::1]", "1.2.3.4 "})
    EXPECT_FALSE(Address::parse(bad)) << bad;
}

TEST(Networks, ContainsByBits) {
  const Networks some = networks({"10.0.0.0/8", "192.168.1.128/25", "::1", "fd00::/9", "1.2.3.4"});
  for (const char* in :
       {"10.255.0.1", "192.168.1.200", "::1", "fd7f::1", "1.2.3.4", "::ffff:10.0.0.1"})
    EXPECT_TRUE(some.contains(address(in))) << in;
  for (const char* out : {"11.0.0.1", "192.168.1.127", "::2", "fd80::1", "1.2.3.5"})
    EXPECT_FALSE(some.contains(address(out))) << out;
  EXPECT_TRUE(networks({"0.0.0.0/0"}).contains(address("8.8.8.8")));
  EXPECT_FALSE(networks({"0.0.0.0/0"}).contains(address("::1")));
}

TEST(Networks, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "x/8"})
    EXPECT_FALSE(Networks::parse({bad}).ok()) << bad;
}

TEST(Forwarded, OnlyATrustedProxyIsBelieved) {
  Headers headers;
  headers.add("X-Forwarded-For", "6.6.6.6, 1.2.3.4, 10.0.0.2");
  const Networks trusted = networks({"10.0.0.0/8"});
  EXPECT_EQ(forwarded_address(headers, address("9.9.9.9"), trusted), "9.9.9.9");
  EXPECT_EQ(forwarded_address(headers, address("10.0.0.1"), trusted), "1.2.3.4");
  EXPECT_EQ(forwarded_address(headers, address("10.0.0.1"), Networks()), "10.0.0.1");
}

TEST(Forwarded, StopsAtWhatIsNoAddress) {
  const Networks trusted = networks({"10.0.0.0/8"});
  Headers headers;
  headers.add("X-Forwarded-For", "1.2.3.4");
  headers.add("x-forwarded-for", "nonsense, 10.0.0.3:1234");
  EXPECT_EQ(forwarded_address(headers, address("10.0.0.1"), trusted), "10.0.0.3");
  Headers six;
  six.add("X-Forwarded-For", "[2001:db8::1]:443");
  EXPECT_EQ(forwarded_address(six, address("10.0.0.1"), trusted), "2001:db8::1");
}

TEST(Forwarded, ProtoIsTheLastProxys) {
  Headers headers;
  EXPECT_FALSE(forwarded_tls(headers));
  headers.add("X-Forwarded-Proto", "https, http");
  EXPECT_FALSE(forwarded_tls(headers));
  headers.set("X-Forwarded-Proto", "HTTPS");
  EXPECT_TRUE(forwarded_tls(headers));
}

TEST(RequestId, IsShortAndPlain) {
  EXPECT_TRUE(valid_request_id("aZ0._-"));
  EXPECT_TRUE(valid_request_id(std::string(64, 'a')));
  for (const std::string& bad : {std::string(), std::string(65, 'a'), std::string("a b"),
                                 std::string("a\n"), std::string("\xc3\xa4")})
    EXPECT_FALSE(valid_request_id(bad));
}

}  // namespace
}  // namespace hearth::net
