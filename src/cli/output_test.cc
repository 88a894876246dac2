#include "cli/output.h"

#include <gtest/gtest.h>

#include "domain/job_spec.h"

namespace hearth::cli {
namespace {

Screen terminal(bool colour) {
  return Screen{true, true, colour, 80};
}

TEST(Table, AlignsForPeopleByWhatIsShown) {
  Table table({"NAME", "STATE", "NOTE"});
  table.row({"caf\xC3\xA9", "running", "x"});
  table.row({"a-long-name", "ok", ""});
  EXPECT_EQ(table.text(terminal(false)),
            "NAME         STATE    NOTE\n"
            "caf\xC3\xA9         running  x\n"
            "a-long-name  ok       \n");
}

TEST(Table, EscapeSequencesTakeNoRoom) {
  Table table({"A", "B"});
  table.row({paint("red", Colour::red, terminal(true)), "x"});
  table.row({"plain", "y"});
  EXPECT_EQ(table.text(terminal(true)),
            "\033[2mA      B\033[0m\n\033[31mred\033[0m    x\nplain  y\n");
}

TEST(Table, IsOneLineARecordInAPipe) {
  Table table({"A", "B"});
  table.row({"x", "two\nlines\tand a tab"});
  EXPECT_EQ(table.text(Screen{}), "x\ttwo lines and a tab\n");
  EXPECT_EQ(paint("x", Colour::red, Screen{}), "x");
}

TEST(Facts, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(Facts().add("a", "1").add("longer", "2").add("none", "").text(),
            "a       1\nlonger  2\n");
}

TEST(Words, Times) {
  const Time now{1'700'000'000'000'000};
  const auto before = [&](double seconds) { return ago(now - Duration::seconds(seconds), now); };
  EXPECT_EQ(before(0.5), "now");
  EXPECT_EQ(before(59), "59 s ago");
  EXPECT_EQ(before(3599), "59 m ago");
  EXPECT_EQ(before(86'400), "24 h ago");
  EXPECT_EQ(before(3 * 86'400), "3 d ago");
  EXPECT_EQ(before(-100), "now");  // another machine's clock
  EXPECT_EQ(ago(Time{}, now), "");
  EXPECT_EQ(when(now), "2023-11-14T22:13:20Z");
  EXPECT_EQ(when(Time{}), "");
}

TEST(Words, ForeignTextCannotDriveTheTerminal) {
  EXPECT_EQ(printable("a\033[2Jb\x7f\tc"), "a?[2Jb?\tc");
}

TEST(Words, NumbersAndValues) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1234567.0), "1.23457e+06");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(any_text(AnyJson{"\"a \\\"b\\\"\""}), "a \"b\"");
  EXPECT_EQ(any_text(AnyJson{"[1,2]"}), "[1,2]");
}

TEST(Errors, SayTheMendOnce) {
  const auto job = parse_job_yaml("hearth: 1\nname: it\ncomand: x\ncommand: x\n");
  ASSERT_FALSE(job.ok());
  const std::string mend = job.error().mend;
  ASSERT_EQ(job.error().errors.front().mend, mend);  // each stands for who shows it alone
  const std::string text = error_text(job.error(), "job.yaml");
  EXPECT_NE(text.find("did you mean"), std::string::npos) << text;
  EXPECT_EQ(text.find(mend), text.rfind(mend)) << text;
}

TEST(Errors, NameFileLineAndMend) {
  Error error = Error::invalid("the job file has 2 mistakes", "see docs");
  error.errors.push_back({"resources.cpus", 4, "'lots' (text)", "a number", "write 2"});
  error.errors.push_back({"command", 0, "nothing", "", ""});
  EXPECT_EQ(error_text(error, "job.yaml"),
            "error: the job file has 2 mistakes\n"
            "  job.yaml:4: resources.cpus: found 'lots' (text)\n"
            "      allowed: a number\n"
            "      write 2\n"
            "  command: found nothing\n"
            "  see docs\n");
  EXPECT_NE(error_text(error, "").find("line 4: "), std::string::npos);
  const std::string json = error_json("invalid", error, "job.yaml");
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  ASSERT_TRUE(parse_json(json).ok()) << json;
  for (const std::string_view part :
       {R"("code":"invalid")", R"("file":"job.yaml")", R"("mend":"see docs")",
        R"("path":"resources.cpus","line":4)", R"("path":"command")"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
}

}  // namespace
}  // namespace hearth::cli
