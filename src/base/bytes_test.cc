#include "base/bytes.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace hearth {
namespace {

std::string hex_of(std::span<const std::byte> bytes) {
  return to_hex(bytes);
}

TEST(Hex, GoesThereAndBack) {
  EXPECT_EQ(to_hex(as_bytes(std::string_view("\x00\x0f\xff", 3))), "000fff");
  EXPECT_EQ(as_text(from_hex("48656C6c6f").value()), "Hello");
  EXPECT_FALSE(from_hex("abc").ok());
  EXPECT_FALSE(from_hex("zz").ok());
}

// RFC 4648, section 10.
TEST(Base64, KnowsTheVectors) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(to_base64(as_bytes(plain)), coded);
    EXPECT_EQ(as_text(from_base64(coded).value()), plain);
  }
  EXPECT_EQ(to_base64url(as_bytes("\xfb\xff\xfe")), "-__-");
  EXPECT_EQ(as_text(from_base64("-__-").value()), "\xfb\xff\xfe");
  EXPECT_EQ(as_text(from_base64("Zg").value()), "f");
}

TEST(Base64, RefusesWhatIsNone) {
  EXPECT_FALSE(from_base64("Zm9v!").ok());
  EXPECT_FALSE(from_base64("Zm 9v").ok());
  EXPECT_FALSE(from_base64("Zm9vZ").ok());  // a single left-over digit holds no byte
}

// FIPS 180-2, appendix B.
TEST(Sha256, KnowsTheVectors) {
  EXPECT_EQ(sha256(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 million;
  for (int i = 0; i < 1000; ++i) million.update(std::string(1000, 'a'));
  EXPECT_EQ(million.finish_text(),
            "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_TRUE(is_digest(sha256("abc")));
  EXPECT_FALSE(is_digest("sha256:abc"));
  EXPECT_FALSE(is_digest("sha256:" + std::string(64, 'G')));
  EXPECT_FALSE(is_digest("md5:" + std::string(67, '0')));
}

// RFC 4231, cases 2 and 6.
TEST(Hmac, KnowsTheVectors) {
  EXPECT_EQ(hex_of(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_of(hmac_sha256(std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(ConstantTime, ComparesWholeTexts) {
  EXPECT_TRUE(equal_constant_time("", ""));
  EXPECT_TRUE(equal_constant_time("token", "token"));
  EXPECT_FALSE(equal_constant_time("token", "tokem"));
  EXPECT_FALSE(equal_constant_time("token", "toke"));
}

// RFC 3720, appendix B.4.
TEST(Crc32c, KnowsTheVectors) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\xff'))), 0x62a8ab43u);
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  EXPECT_EQ(crc32c(as_bytes(rising)), 0x46dd794eu);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, ContinuesAtAnyCut) {
  std::string text(1000, '\0');
  SeededRandom(3).fill(std::as_writable_bytes(std::span(text)));
  const uint32_t whole = crc32c(as_bytes(text));
  for (size_t cut = 0; cut <= text.size(); cut += 37) {
    const auto bytes = as_bytes(text);
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), whole) << cut;
  }
}

class Sealed : public testing::Test {
 protected:
  const Bytes key_ = from_hex(std::string(64, '7')).value();
};

TEST_F(Sealed, OpensWithItsKeyAndItsBoundAlone) {
  for (const std::string& plain : {std::string(), std::string("s3cret"), std::string(5000, 'x')}) {
    for (const char* bound : {"", "project/NAME"}) {
      const Bytes sealed = seal(key_, plain, bound).value();
      EXPECT_EQ(unseal(key_, sealed, bound).value(), plain);
      EXPECT_FALSE(unseal(key_, sealed, std::string(bound) + "x").ok());
      EXPECT_FALSE(unseal(from_hex(std::string(64, '8')).value(), sealed, bound).ok());
      if (!plain.empty()) EXPECT_EQ(as_text(sealed).find(plain), std::string_view::npos);
    }
  }
}

TEST_F(Sealed, EveryFlippedBitIsFound) {
  const Bytes sealed = seal(key_, "s3cret", "n").value();
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    Bytes hurt = sealed;
    hurt[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_FALSE(unseal(key_, hurt, "n").ok()) << bit;
  }
  for (size_t size = 0; size < sealed.size(); ++size)
    EXPECT_FALSE(unseal(key_, std::span(sealed).first(size), "n").ok()) << size;
}

TEST_F(Sealed, TheSameTextNeverLooksTheSame) {
  EXPECT_NE(seal(key_, "s3cret", "n").value(), seal(key_, "s3cret", "n").value());
}

TEST(Utf8, KnowsWellFormedText) {
  for (const char* text : {"", "plain", "\xc3\xa4\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x94\xa5",
                           "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80"})
    EXPECT_TRUE(is_utf8(text)) << text;
}

TEST(Utf8, RefusesIllFormedText) {
  for (const char* text :
       {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xe2\x82", "\xe2\x28\xa1"})
    EXPECT_FALSE(is_utf8(text)) << to_hex(as_bytes(text));
}

TEST(Utf8, ReplacesIllFormedBytesOneByOne) {
  EXPECT_EQ(to_utf8_lossy("a\xff\xfe"
                          "b"),
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b");
  EXPECT_EQ(to_utf8_lossy("\xe2\x82\xac"), "\xe2\x82\xac");
  EXPECT_TRUE(is_utf8(to_utf8_lossy("\xe2\x82 \xc0\xaf")));
}

}  // namespace
}  // namespace hearth
