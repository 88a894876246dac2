#include "cli/code.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "cli/progress.h"
#include "os/archive.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::cli {
namespace {

constexpr Duration kGitTime = Duration::seconds(20);
constexpr size_t kMostDiffBytes = 16 << 20;

// What git prints; nothing when it fails.
std::optional<std::string> git(const std::string& directory, std::vector<std::string> words) {
  os::SpawnOptions options;
  options.argv = {"git", "-C", directory};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.environment = os::current_environment();
  options.environment.push_back("GIT_OPTIONAL_LOCKS=0");
  const auto done = os::run(std::move(options), kGitTime, kMostDiffBytes);
  if (!done.ok() || done->timed_out || !done->exit.success()) return std::nullopt;
  return done->output;
}

std::string git_line(const std::string& directory, std::vector<std::string> words) {
  const auto text = git(directory, std::move(words));
  return text ? std::string(trim(*text)) : "";
}

Result<std::string> send_text(Server& server, const std::string& text) {
  const auto folder = TRY(os::TemporaryDirectory::make());
  const std::string file = folder / "diff";
  TRY(os::append_file(file, text, os::Sync::no));
  const std::string digest = sha256(text);
  TRY(server.api().upload(digest, file, static_cast<int64_t>(text.size())));
  return digest;
}

bool is_much(const os::BundleContents::Part& part) {
  return part.files > kMuchCodeFiles || part.bytes > kMuchCodeBytes;
}

std::string packed_words(const std::string& directory, const os::BundleContents& contents) {
  using Part = os::BundleContents::Part;
  const auto count = [](int64_t files) {
    return files == 1 ? std::string("1 file") : format("{} files and folders", files);
  };
  std::string words = format("Packing {}: {}, {}.", directory, count(contents.all.files),
                             format_size(contents.all.bytes));
  if (!is_much(contents.all)) return words;
  const bool heavy = contents.all.bytes > kMuchCodeBytes;
  words += "\n  That is much for code";
  if (const auto* most = contents.largest(heavy ? &Part::bytes : &Part::files))
    words +=
        format("; {} of it in {}/",
               heavy ? format_size(most->second.bytes) : count(most->second.files), most->first);
  return words +
         ". Name what the job does not need in a file .hearthignore\n"
         "  there, as in .gitignore; what several jobs read is better kept by `hearth dataset "
         "add`.";
}

}  // namespace

std::string without_credentials(const std::string& remote) {
  const size_t scheme = remote.find("://");
  if (scheme == std::string::npos) return remote;
  const size_t host = scheme + 3;
  const size_t slash = remote.find('/', host);
  const size_t at = remote.rfind('@', slash == std::string::npos ? std::string::npos : slash);
  if (at == std::string::npos || at < host) return remote;
  return remote.substr(0, host) + remote.substr(at + 1);
}

GitState git_state(const std::string& directory, std::string& diff) {
  GitState state;
  state.commit = git_line(directory, {"rev-parse", "HEAD"});
  if (state.commit.empty()) return {};
  state.branch = git_line(directory, {"rev-parse", "--abbrev-ref", "HEAD"});
  state.remote = without_credentials(git_line(directory, {"config", "--get", "remote.origin.url"}));
  const auto status = git(directory, {"status", "--porcelain", "--", "."});
  state.dirty = status && !trim(*status).empty();
  if (state.dirty)
    diff = git(directory, {"diff", "--no-color", "--no-ext-diff", "HEAD", "--", "."}).value_or("");
  return state;
}

Result<SentCode> send_code(Server& server, const std::string& directory, TellPacked tell) {
  const auto folder = TRY(os::TemporaryDirectory::make());
  const std::string file = folder / "code.tar.zst";
  const auto told = [&](const os::BundleContents& contents) {
    if (is_much(contents.all) || tell == TellPacked::always)
      std::fprintf(stderr, "%s\n", packed_words(directory, contents).c_str());
  };
  const auto bundle = TRY(os::bundle_directory(directory, file, {}, told));
  for (const std::string& link : bundle.left_out_links)
    std::fprintf(stderr, "Left out: %s is a link that leads out of the code.\n", link.c_str());
  SentCode sent;
  sent.digest = bundle.digest;
  {
    Progress progress("Uploading code", bundle.packed_bytes);
    TRY(server.api().upload(bundle.digest, file, bundle.packed_bytes,
                            [&](int64_t done, int64_t) { progress.set(done); }));
  }
  std::string diff;
  sent.git = git_state(directory, diff);
  if (!diff.empty()) sent.git.diff_digest = TRY(send_text(server, diff));
  return sent;
}

}  // namespace hearth::cli
