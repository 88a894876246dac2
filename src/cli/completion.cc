// Shell completion, made from the command tree itself.
#include <set>

#include "base/format.h"
#include "cli/output.h"
#include "cli/tree.h"

namespace hearth::cli {
namespace {

using Paths = std::vector<std::pair<std::string, std::vector<Tree::Word>>>;

// A text between single quotes for a shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_of(const std::vector<Tree::Word>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word.name;
  return out;
}

// Finds the command that stands on the line, then offers what may follow it, and files.
std::string bash(const Paths& paths) {
  std::string known, choices;
  for (const auto& [path, words] : paths) {
    if (!path.empty()) known += format("{}{}", known.empty() ? "" : "|", quoted(" " + path));
    choices += format("    {}) words={} ;;\n", quoted(path.empty() ? "" : " " + path),
                      quoted(words_of(words)));
  }
  return format(
      "_hearth() {{\n"
      "  local path='' words='' i current=${{COMP_WORDS[COMP_CWORD]}}\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$path ${{COMP_WORDS[i]}}\" in\n"
      "      {}) path=\"$path ${{COMP_WORDS[i]}}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _hearth hearth\n",
      known, choices);
}

std::string zsh(const Paths& paths) {
  return "#compdef hearth\nautoload -U +X bashcompinit && bashcompinit\n" + bash(paths);
}

std::string fish(const Paths& paths) {
  std::string out =
      "function __hearth_at\n"
      "  set -l path ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    string match -q -- '-*' $word; or set path \"$path $word\"\n"
      "  end\n"
      "  test \"$path\" = \"$argv[1]\"\n"
      "end\n";
  for (const auto& [path, words] : paths) {
    const std::string at = quoted("__hearth_at " + quoted(path.empty() ? "" : " " + path));
    for (const auto& word : words) {
      if (word.name.starts_with("--"))
        out += format("complete -c hearth -n {} -l {} -d {}\n", at, word.name.substr(2),
                      quoted(word.doc));
      else
        out += format("complete -c hearth -n {} -f -a {} -d {}\n", at, word.name, quoted(word.doc));
    }
  }
  return out;
}

}  // namespace

void add_completion_command(Tree& tree) {
  auto shell = std::make_shared<std::string>();
  Group top = tree.top();
  top.command("completion", "Prints a completion script: `source <(hearth completion bash)`")
      .needs(*shell, "SHELL", "bash, zsh or fish")
      .does([shell, &tree]() -> Result<int> {
        if (*shell == "bash")
          put(bash(tree.paths()));
        else if (*shell == "zsh")
          put(zsh(tree.paths()));
        else if (*shell == "fish")
          put(fish(tree.paths()));
        else
          return Error::invalid(format("there is no completion for '{}'", *shell),
                                "there is one for bash, zsh and fish");
        return kExitOk;
      });
}

}  // namespace hearth::cli
