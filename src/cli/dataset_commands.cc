// dataset add, list, show, delete.
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "cli/fetch.h"
#include "cli/progress.h"
#include "domain/dataset.h"
#include "domain/wire/api.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::cli {
namespace {

using client::path_part;

constexpr int kHashers = 2;  // threads that read and hash files

struct AddArgs {
  std::string directory, name;
  std::vector<std::string> tags;
  bool in_place = false;
};

// Sizes and times, and the digests by kHashers threads; a file that changed meanwhile is an error.
Result<void> hash_all(const std::string& root, std::vector<ManifestFile>& files,
                      int64_t total_bytes) {
  Progress progress("Reading", total_bytes);
  std::atomic<size_t> next = 0;
  std::vector<Result<void>> ends(kHashers);
  const auto work = [&](Result<void>& end) {
    for (size_t i = next++; i < files.size(); i = next++) {
      auto hashed = hash_file(root + "/" + files[i].path, progress);
      if (hashed.ok() && hashed->bytes != files[i].size_bytes)
        hashed = Error::conflict(format("{} changed while it was read", files[i].path),
                                 "add the dataset when nobody writes to it");
      if (!hashed.ok()) {
        end = std::move(hashed).error();
        next = files.size();
        return;
      }
      files[i].digest = std::move(hashed->digest);
    }
  };
  std::vector<std::thread> threads;
  for (Result<void>& end : ends) threads.emplace_back([&work, &end] { work(end); });
  for (std::thread& thread : threads) thread.join();
  for (Result<void>& end : ends) TRY(end);
  return {};
}

// Every regular file below, sorted by path; links and the rest are counted.
Result<Manifest> list_files(const std::string& root, int64_t& total_bytes, int64_t& left_out) {
  Manifest manifest;
  TRY(os::walk(root, [&](const os::Found& found) -> Result<bool> {
    if (found.kind == os::EntryKind::directory) return true;
    if (found.kind != os::EntryKind::file) {
      ++left_out;
      return false;
    }
    const auto status = TRY(os::link_status(root + "/" + found.path));
    ManifestFile file;
    file.path = found.path;
    file.size_bytes = status.st_size;
    file.modified_us =
        static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000 + status.st_mtim.tv_nsec / 1000;
    file.executable = (status.st_mode & S_IXUSR) != 0;
    total_bytes += file.size_bytes;
    manifest.files.push_back(std::move(file));
    return false;
  }));
  std::sort(manifest.files.begin(), manifest.files.end(),
            [](const ManifestFile& a, const ManifestFile& b) { return a.path < b.path; });
  return manifest;
}

constexpr size_t kAskedAtOnce = 10'000;  // the most digests of one question

// Which of the files' objects the server has.
Result<std::set<std::string>> find_present(Server& server, const Manifest& manifest) {
  std::set<std::string> present;
  for (size_t at = 0; at < manifest.files.size(); at += kAskedAtOnce) {
    DigestsBody body;
    for (size_t i = at; i < std::min(at + kAskedAtOnce, manifest.files.size()); ++i)
      body.digests.push_back(manifest.files[i].digest);
    const auto answer =
        TRY(server.api().send_as<StoredObjects>("POST", "/api/v1/objects/have", to_json(body)));
    for (const auto& [digest, size] : answer.sizes) present.insert(digest);
  }
  return present;
}

Result<void> upload_all(Server& server, const std::string& root, const Manifest& manifest,
                        int64_t total_bytes) {
  std::set<std::string> present = TRY(find_present(server, manifest));
  Progress progress("Uploading", total_bytes);
  int64_t before = 0;
  for (const ManifestFile& file : manifest.files) {
    if (present.insert(file.digest).second)
      TRY(server.api().upload(file.digest, root + "/" + file.path, file.size_bytes,
                              [&](int64_t done, int64_t) { progress.set(before + done); }));
    before += file.size_bytes;
    progress.set(before);
  }
  return {};
}

Result<int> add(const Globals& globals, const AddArgs& args) {
  std::error_code failure;
  const std::string root = std::filesystem::canonical(args.directory, failure).string();
  if (failure) return Error::from_errno(args.directory, failure.value());
  const auto status = TRY(os::status(root));
  if (!S_ISDIR(status.st_mode))
    return Error::invalid(format("{} is no directory", args.directory),
                          "a dataset is a directory; put the file into one");
  Server server = TRY(Server::open(globals));
  int64_t total_bytes = 0, left_out = 0;
  DatasetVersionBody body;
  body.manifest = TRY(list_files(root, total_bytes, left_out));
  if (body.manifest.files.empty())
    return Error::invalid(format("there is no file in {}", args.directory));
  TRY(hash_all(root, body.manifest.files, total_bytes));
  if (args.in_place) {
    body.in_place = root;
  } else {
    for (ManifestFile& file : body.manifest.files) file.modified_us = 0;
    TRY(upload_all(server, root, body.manifest, total_bytes));
  }
  body.tags = args.tags;
  const std::string name = args.name.empty() ? os::name_of(root) : args.name;
  const std::string answer =
      TRY(server.api().send("POST", "/api/v1/datasets/" + path_part(name) + "/versions",
                            to_json(body), server.in_project()));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto made = TRY(from_json<DatasetVersion>(answer));
  put(format("{}@{}\n", made.dataset, made.number));
  if (!globals.quiet)
    std::fprintf(stderr, "%zu files, %s%s\n", body.manifest.files.size(),
                 format_size(total_bytes).c_str(),
                 left_out > 0 ? format("; {} links and others left out", left_out).c_str() : "");
  return kExitOk;
}

Result<int> list(const Globals& globals, const ListArgs& args) {
  Server server = TRY(Server::open(globals));
  return show_list<Dataset>(
      globals, TRY(list_items(server, "/api/v1/datasets", server.in_project(), args)),
      &Dataset::name, Table({"NAME", "VERSIONS", "TAGS", "CREATED", "BY", "PROJECT"}),
      [](const Dataset& dataset) -> std::vector<std::string> {
        std::string tags;
        for (const auto& [tag, version] : dataset.tags)
          tags += format("{}{}={}", tags.empty() ? "" : " ", tag, version);
        return {dataset.name,
                std::to_string(dataset.versions),
                tags,
                ago(dataset.created_at),
                dataset.created_by,
                dataset.project};
      },
      "There is no dataset. `hearth dataset add DIR` makes one.");
}

Result<int> show_version(const Globals& globals, Server& server, const std::string& name,
                         const std::string& version) {
  const std::string answer = TRY(
      server.api().get("/api/v1/datasets/" + path_part(name) + "/versions/" + path_part(version),
                       server.in_project()));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto found = TRY(from_json<DatasetVersion>(answer));
  Facts()
      .add("dataset", found.dataset)
      .add("version", std::to_string(found.number))
      .add("files", std::to_string(found.file_count))
      .add("size", format_size(found.size_bytes))
      .add("manifest", found.manifest_digest)
      .add("stays in", found.in_place)
      .add("made by", found.created_by)
      .add("created", ago(found.created_at))
      .print();
  const auto manifest = fetch_manifest(server, found.manifest_digest);
  if (!manifest.ok()) return kExitOk;  // the list is an extra
  put("\n");
  Table table({"FILE", "SIZE", "DIGEST"});
  for (const ManifestFile& file : manifest->files)
    table.row({printable(file.path), format_size(file.size_bytes), file.digest});
  table.print("");
  return kExitOk;
}

Result<int> show(const Globals& globals, const std::string& text) {
  Server server = TRY(Server::open(globals));
  if (const size_t at = text.find('@'); at != std::string::npos)
    return show_version(globals, server, text.substr(0, at), text.substr(at + 1));
  const std::string path = "/api/v1/datasets/" + path_part(text);
  const std::string answer = TRY(server.api().get(path, server.in_project()));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto dataset = TRY(from_json<Dataset>(answer));
  Facts()
      .add("name", dataset.name)
      .add("project", dataset.project)
      .add("about", dataset.description)
      .print();
  return show_list<DatasetVersion>(
      globals, TRY(list_items(server, path + "/versions", server.in_project())),
      &DatasetVersion::id,
      Table({"VERSION", "FILES", "SIZE", "CREATED", "BY", "STAYS IN", "MANIFEST"}),
      [](const DatasetVersion& version) -> std::vector<std::string> {
        return {std::to_string(version.number),
                std::to_string(version.file_count),
                format_size(version.size_bytes),
                ago(version.created_at),
                version.created_by,
                version.in_place,
                version.manifest_digest};
      },
      "It has no version.");
}

}  // namespace

void add_dataset_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("dataset", "Immutable versions of data");
  auto args = std::make_shared<AddArgs>();
  group.command("add", "Makes a version of a directory")
      .needs(args->directory, "DIR", "its files become the version")
      .option(args->name, "--name", "N", "default: the directory's name")
      .option(args->tags, "--tag", "T", "a name that points at this version")
      .flag(args->in_place, "--in-place", "the files stay where they are, on the node's disk")
      .does([args, &globals] { return add(globals, *args); });
  auto list_args = std::make_shared<ListArgs>();
  Command list_command = group.command("list", "Lists datasets");
  add_list_options(list_command, *list_args, "name ~ mnist");
  list_command.does([list_args, &globals] { return list(globals, *list_args); });
  auto shown = std::make_shared<std::string>();
  group.command("show", "Shows a dataset, or the files of a version")
      .needs(*shown, "DATASET", "NAME, or NAME@VERSION")
      .does([shown, &globals] { return show(globals, *shown); });
  auto gone = std::make_shared<std::string>();
  group.command("delete", "Deletes a dataset with its versions")
      .needs(*gone, "NAME", "dataset")
      .does([gone, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", "/api/v1/datasets/" + path_part(*gone), "",
                              server.in_project()));
        if (!globals.quiet) std::fprintf(stderr, "%s is deleted.\n", gone->c_str());
        return kExitOk;
      });
  group.later("convert", "Makes another format of a version");
}

}  // namespace hearth::cli
