#include "base/result.h"

#include <cerrno>
#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace hearth {
namespace {

constexpr Code kAll[] = {
    Code::invalid, Code::too_large,   Code::unauthenticated, Code::denied,  Code::not_found,
    Code::gone,    Code::conflict,    Code::exists,          Code::busy,    Code::unreachable,
    Code::method,  Code::unavailable, Code::unsupported,     Code::timeout, Code::internal};

Result<int> half(int n) {
  if (n % 2 != 0) return Error::invalid("odd", "give an even number");
  return n / 2;
}

Result<int> quarter(int n) {
  return half(TRY(half(n)));
}

Result<void> all_even(std::initializer_list<int> numbers) {
  for (const int n : numbers) TRY(half(n));
  return {};
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().detail, "odd");
  EXPECT_EQ(quarter(3).error().mend, "give an even number");
  EXPECT_TRUE(all_even({2, 4}).ok());
  EXPECT_FALSE(all_even({2, 3}).ok());
}

TEST(Result, MovesWhatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto use = [&]() -> Result<int> {
    const auto owned = TRY(make());
    return *owned;
  };
  EXPECT_EQ(use().value(), 7);
}

TEST(Result, ValueOrGivesTheOtherOnAnError) {
  EXPECT_EQ(half(4).value_or(-1), 2);
  EXPECT_EQ(half(5).value_or(-1), -1);
}

TEST(Error, TheTableIsWhatTheFacePromises) {
  EXPECT_EQ(info(Code::invalid).http_status, 400);
  EXPECT_EQ(info(Code::too_large).http_status, 413);
  EXPECT_EQ(info(Code::unauthenticated).http_status, 401);
  EXPECT_EQ(info(Code::denied).http_status, 403);
  EXPECT_EQ(info(Code::not_found).http_status, 404);
  EXPECT_EQ(info(Code::gone).http_status, 410);
  EXPECT_EQ(info(Code::conflict).http_status, 409);
  EXPECT_EQ(info(Code::busy).http_status, 429);
  EXPECT_EQ(info(Code::internal).http_status, 500);
  EXPECT_EQ(info(Code::unavailable).http_status, 503);
  EXPECT_EQ(info(Code::not_found).exit_code, 3);
  EXPECT_EQ(info(Code::gone).exit_code, 3);
  EXPECT_EQ(info(Code::unauthenticated).exit_code, 4);
  EXPECT_EQ(info(Code::denied).exit_code, 4);
  EXPECT_EQ(info(Code::conflict).exit_code, 5);
  EXPECT_EQ(info(Code::exists).exit_code, 5);
  EXPECT_EQ(info(Code::unreachable).exit_code, 6);
  EXPECT_EQ(info(Code::invalid).exit_code, 7);
  EXPECT_EQ(info(Code::internal).exit_code, 8);
  EXPECT_EQ(info(Code::busy).exit_code, 10);
}

TEST(Error, EveryCodeHasANameOfItsOwnThatLeadsBack) {
  std::set<std::string_view> names;
  for (const Code code : kAll) {
    EXPECT_TRUE(names.insert(info(code).name).second) << info(code).name;
    EXPECT_EQ(code_from_name(info(code).name), code);
  }
  EXPECT_EQ(code_from_name("no such code"), Code::internal);
}

TEST(Error, FromErrnoChoosesTheCode) {
  EXPECT_EQ(Error::from_errno("open a", ENOENT).code, Code::not_found);
  EXPECT_EQ(Error::from_errno("open a", EACCES).code, Code::denied);
  EXPECT_EQ(Error::from_errno("open a", EROFS).code, Code::unavailable);
  EXPECT_EQ(Error::from_errno("open a", EEXIST).code, Code::exists);
  EXPECT_EQ(Error::from_errno("open a", EIO).code, Code::internal);
  const Error full = Error::from_errno("write a", ENOSPC);
  EXPECT_EQ(full.code, Code::unavailable);
  EXPECT_FALSE(full.mend.empty());
  EXPECT_EQ(full.detail, "write a: No space left on device");
}

TEST(Error, TextNamesEveryField) {
  Error error = Error::invalid("2 errors", "mend them").with("job.yaml");
  error.errors = {{"resources.cpus", 4, "'x'", "a number", "write 2"},
                  {"name", 0, "nothing", "a name", ""}};
  EXPECT_EQ(error.text(),
            "job.yaml: 2 errors (mend them)\n"
            "  line 4: resources.cpus: found 'x', allowed: a number; write 2\n"
            "  name: found nothing, allowed: a name");
  error.errors.front().mend = error.mend;
  EXPECT_EQ(error.text(),
            "job.yaml: 2 errors\n"
            "  line 4: resources.cpus: found 'x', allowed: a number; mend them\n"
            "  name: found nothing, allowed: a name");
}

TEST(ResultDeathTest, ABrokenInvariantAborts) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "broken invariant: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace hearth
