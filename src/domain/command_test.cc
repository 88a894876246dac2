// Commands with parameters, run by a real shell over values that would like to be code.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "domain/job_spec.h"

namespace hearth {
namespace {

const std::vector<std::string>& nasty_values() {
  static const std::vector<std::string> values = {
      "plain",
      "",
      " ",
      "two words",
      "it's",
      "a\"b",
      "$(echo HACKED)",
      "`echo HACKED`",
      "; echo HACKED",
      "&& echo HACKED",
      "| echo HACKED",
      "a\nb",
      "\n",
      "*",
      "?",
      "[a-z]",
      "~",
      "$HOME",
      "${HOME}",
      "\\",
      "\\n",
      "'\"'\"'",
      "'; echo HACKED; '",
      "\"; echo HACKED; \"",
      "#x",
      "-n",
      "!!",
      "a'b\"c`d$e\\f",
      "EOF",
      "%s",
      "\t",
      "ünï☃",
      "x=1",
      "((1+1))",
      "{a,b}",
      "<x>",
  };
  return values;
}

std::map<std::string, Param> params_with(const std::string& value) {
  return {{"v", Param{.value = {json_quote(value)}}}, {"n", Param{.value = {"0.5"}}}};
}

// What the words of `script`'s printf come out as; the variables go by the environment alone.
std::string output_of(const ReadyCommand& ready) {
  for (const auto& [name, value] : ready.env) setenv(name.c_str(), value.c_str(), 1);
  setenv("HEARTH_TEST_SCRIPT", ready.argv.at(2).c_str(), 1);
  FILE* pipe = popen("exec /bin/sh -c \"$HEARTH_TEST_SCRIPT\" 2>&1", "r");
  std::string out;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) out += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << ready.argv[2] << "\n" << out;
  return out;
}

void expect_words(const std::string& script, const std::string& value,
                  const std::string& expected) {
  const auto ready = make_command({.text = script}, params_with(value));
  ASSERT_TRUE(ready.ok()) << script << ready.error().text();
  ASSERT_EQ(ready->argv.size(), 3U);
  EXPECT_EQ(make_command({.text = script}, params_with("other"))->argv[2], ready->argv[2])
      << "the value must not change the shell's text";
  EXPECT_EQ(output_of(*ready), expected) << script << "\n became " << ready->argv[2];
}

TEST(Command, AValueStaysOneWordInAnyQuotes) {
  for (const std::string& v : nasty_values()) {
    expect_words("printf '<%s>' ${params.v} end", v, "<" + v + "><end>");
    expect_words("printf '<%s>' --x=${params.v}/y", v, "<--x=" + v + "/y>");
    expect_words("printf '<%s>' \"a ${params.v} b\"", v, "<a " + v + " b>");
    expect_words("printf '<%s>' 'a ${params.v} b'", v, "<a " + v + " b>");
    expect_words("printf '<%s>' 'a'${params.v}\"b\"", v, "<a" + v + "b>");
    expect_words("x=${params.v}; printf '<%s>' \"$x\"", v, "<" + v + ">");
    expect_words("# don't care\nprintf '<%s>' '${params.v}'", v, "<" + v + ">");
    expect_words("printf '<%s>' a#b${params.v} # it's ${params.v}\nprintf 1", v, "<a#b" + v + ">1");
    expect_words("printf '<%s>' \"$(printf '%s.' '${params.v}' \"${params.v}\" ${params.v})\"", v,
                 "<" + v + "." + v + "." + v + ".>");
    expect_words("(printf '<%s>' ${params.v}) && printf '%s' '${params.v}'", v, "<" + v + ">" + v);
    expect_words("printf '<%s>' \\'${params.v}\\\" \"\\\"${params.v}\"", v,
                 "<'" + v + "\"><\"" + v + ">");
  }
}

TEST(Command, HereDocuments) {
  for (const std::string& v : nasty_values()) {
    expect_words("cat <<EOF\nit's ${params.v} \"x\"\nEOF\nprintf '<%s>' '${params.v}'", v,
                 "it's " + v + " \"x\"\n<" + v + ">");
    expect_words("cat <<-A; cat <<B\n\tone's ${params.v}\n\tA\n${params.v}\nB\nprintf ${params.n}",
                 v, "one's " + v + "\n" + v + "\n0.5");
    expect_words("cat <<'EOF'\nit's $x\nEOF\nprintf '<%s>' ${params.v}", v, "it's $x\n<" + v + ">");
  }
}

TEST(Command, ADoubledDollarStaysText) {
  const std::string v = "value";
  expect_words("printf '<%s>' $${params.v} \"$${params.v}\" '$${params.v}' ${params.v}", v,
               "<${params.v}><${params.v}><${params.v}><value>");
  expect_words("cat <<'EOF'\na $${params.v} b\nEOF\n", v, "a ${params.v} b\n");
}

TEST(Command, OtherDollarsAreLeftAlone) {
  expect_words("a=1; printf '<%s>' ${a} \"${a:-x}\" $((a + 1)) $(echo \"$a\") '${a}'", "v",
               "<1><1><2><1><${a}>");
}

TEST(Command, WordsTakeTheValue) {
  for (const std::string& v : nasty_values()) {
    const auto ready = make_command(
        {.words = {"prog", "--x=${params.v}", "${params.n}${params.n}", "$${params.v}", "$x"}},
        params_with(v));
    ASSERT_TRUE(ready.ok());
    EXPECT_EQ(ready->argv,
              (std::vector<std::string>{"prog", "--x=" + v, "0.50.5", "${params.v}", "$x"}));
    EXPECT_EQ(ready->env.at("HEARTH_PARAM_v"), v);
  }
}

TEST(Command, RefusesWhereNoReferenceCanStand) {
  const std::map<std::string, std::string> cases = {
      {"echo ${params.w}", "the unknown parameter 'w'"},
      {"echo ${params.}", "'${params.}'"},
      {"echo ${params.v", "'${params.v'"},
      {"echo ${params.v:-3}", "'${params.v:-3}'"},
      {"echo `cat ${params.v}`", "${params.v} inside back-quotes"},
      {"echo \"`cat ${params.v}`\"", "${params.v} inside back-quotes"},
      {"echo ${x:-${params.v}}", "${params.v} inside ${...}, $((...)) or $'...'"},
      {"echo $((${params.v} + 1))", "${params.v} inside ${...}, $((...)) or $'...'"},
      {"((x = ${params.v}))", "${params.v} inside ${...}, $((...)) or $'...'"},
      {"echo $'${params.v}'", "${params.v} inside ${...}, $((...)) or $'...'"},
      {"cat <<'E'\n${params.v}\nE", "${params.v} inside a here-document whose end is quoted"},
  };
  for (const auto& [script, found] : cases) {
    const auto ready = make_command({.text = script}, params_with("x"));
    ASSERT_FALSE(ready.ok()) << script;
    EXPECT_EQ(ready.error().errors.at(0).found, found) << script;
    EXPECT_FALSE(ready.error().errors[0].mend.empty());
  }
  EXPECT_FALSE(make_command({.words = {"a", "${params.w}"}}, {}).ok());
}

}  // namespace
}  // namespace hearth
