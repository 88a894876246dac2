// Commands with parameters, run by a real shell over values that would like to be code.
#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

// What the command prints. The values reach it by its environment alone.
std::string output_of(const ReadyCommand& ready) {
  std::vector<std::string> env{"PATH=/usr/bin:/bin", "HOME=/nowhere"};
  for (const auto& [name, value] : ready.env) env.push_back(name + "=" + value);
  std::vector<std::string> words = ready.argv;
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : env) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data()), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << ready.argv[2] << "\n" << out;
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
