#include "cli/export_events.h"

#include <cmath>
#include <optional>

#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"
#include "domain/wire/api.h"
#include "os/files.h"
#include "track/event_file.h"

namespace hearth::cli {
namespace {

using client::path_part;
using track::EventValue;

constexpr size_t kMostFileBytes = 32 << 20;  // of an image, a text or a histogram
constexpr size_t kStepDigits = 10;

// "plots/samples-0000000003.png" as the SDK and the shim name it -> samples, 3.
struct NamedFile {
  std::string tag;
  int64_t step = 0;
};
NamedFile named(const std::string& path, std::string_view ending) {
  std::string_view rest = path;
  for (const std::string_view folder : {"plots/", "tensorboard/"})
    if (rest.starts_with(folder)) rest.remove_prefix(folder.size());
  if (rest.ends_with(ending)) rest.remove_suffix(ending.size());
  NamedFile out{std::string(rest), 0};
  if (rest.size() <= kStepDigits + 1 || rest[rest.size() - kStepDigits - 1] != '-') return out;
  std::string_view digits = rest.substr(rest.size() - kStepDigits);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return out;
  out.tag = std::string(rest.substr(0, rest.size() - kStepDigits - 1));
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  out.step = integer_of(digits).value_or(0);
  return out;
}

int64_t big_endian(std::string_view bytes, size_t at) {
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::optional<EventValue> image_of(const std::string& path, std::string bytes) {
  EventValue value;
  value.kind = EventValue::Kind::image;
  const size_t dot = path.rfind('.');
  const NamedFile name = named(path, dot == std::string::npos ? "" : path.substr(dot));
  value.tag = name.tag;
  value.step = name.step;
  if (bytes.starts_with("\x89PNG") && bytes.size() >= 24) {
    value.width = big_endian(bytes, 16);
    value.height = big_endian(bytes, 20);
  }
  value.texts.push_back(std::move(bytes));
  return value;
}

std::vector<double> reals(const Node& of, const char* key) {
  std::vector<double> values;
  if (const Node* const list = of.find(key))
    for (const Node& item : list->items) values.push_back(real_of(item.text).value_or(0));
  return values;
}

std::optional<EventValue> histogram_of(const std::string& path, const std::string& text) {
  const auto node = parse_json(text, kMostFileBytes);
  if (!node.ok()) return std::nullopt;
  EventValue value;
  value.kind = EventValue::Kind::histogram;
  const NamedFile name = named(path, ".histogram.json");
  value.tag = name.tag;
  value.step = name.step;
  if (const Node* const own = node->find("name")) value.tag = own->text;
  value.histogram.edges = reals(*node, "edges");
  value.histogram.counts = reals(*node, "counts");
  if (value.histogram.edges.size() != value.histogram.counts.size() + 1) return std::nullopt;
  return value;
}

std::optional<EventValue> value_of(const Artifact& file, std::string bytes) {
  if (file.kind == "image") return image_of(file.path, std::move(bytes));
  if (file.kind == "histogram") return histogram_of(file.path, bytes);
  EventValue value;
  value.kind = EventValue::Kind::text;
  const NamedFile name = named(file.path, ".txt");
  value.tag = name.tag;
  value.step = name.step;
  value.texts.push_back(std::move(bytes));
  return value;
}

class Exporter {
 public:
  Exporter(Server& server, const Run& run)
      : server_(server), run_(run), bytes_(track::event_file_header(begin())) {}

  Time begin() const { return run_.started_at.micros != 0 ? run_.started_at : run_.created_at; }

  void params() {
    if (run_.params.empty()) return;
    EventValue value;
    value.kind = EventValue::Kind::text;
    value.tag = "params";
    value.time = begin();
    std::string table = "| name | value |\n|---|---|\n";
    for (const auto& [name, text] : run_.params) table += format("| {} | {} |\n", name, text);
    value.texts.push_back(std::move(table));
    bytes_ += track::event_record_of({value});
  }

  Result<void> metric(const std::string& key) {
    const auto history = TRY(server_.api().get_as<MetricHistory>(
        "/api/v1/runs/" + run_.id + "/metrics", {{"key", key}, {"points", "0"}}));
    EventValue value;
    value.tag = key;
    for (const MetricHistoryPoint& point : history.points) {
      value.step = point.step;
      value.time = point.time;
      value.scalar = point.value;
      bytes_ += track::event_record_of({value});
    }
    return {};
  }

  Result<void> files() {
    for (const Node& node :
         TRY(list_items(server_, "/api/v1/runs/" + run_.id + "/artifacts", {}))) {
      const auto file = TRY(from_node<Artifact>(node));
      const bool wanted = file.kind == "image" || file.kind == "text" || file.kind == "histogram";
      if (!wanted || file.size_bytes > static_cast<int64_t>(kMostFileBytes)) continue;
      auto value = value_of(file, TRY(content(file)));
      if (!value) continue;
      value->time = file.created_at;
      bytes_ += track::event_record_of({*value});
    }
    return {};
  }

  const std::string& bytes() const { return bytes_; }

 private:
  Result<std::string> content(const Artifact& file) {
    std::string path;
    for (const std::string_view part : split(file.path, '/'))
      path += (path.empty() ? "" : "/") + path_part(part);
    std::string bytes;
    TRY(server_.api().stream("/api/v1/runs/" + run_.id + "/artifacts/" + path, {}, "",
                             [&](std::string_view piece) {
                               bytes += piece;
                               return bytes.size() <= kMostFileBytes;
                             }));
    return bytes;
  }

  Server& server_;
  const Run& run_;
  std::string bytes_;
};

}  // namespace

Result<std::string> export_events(Server& server, const Run& run, const std::string& metric,
                                  const std::string& directory) {
  Exporter exporter(server, run);
  if (metric.empty()) exporter.params();
  for (const auto& [name, latest] : run.metrics)
    if (metric.empty() || name == metric) TRY(exporter.metric(name));
  if (metric.empty()) TRY(exporter.files());
  // A name that is no folder's name cannot be: names of runs that clients make are anything.
  std::string folder = run.name;
  for (char& c : folder)
    if (c == '/' || static_cast<unsigned char>(c) < 0x20) c = '_';
  if (folder.empty() || folder == "." || folder == ".." || folder.size() > 200) folder = run.id;
  const std::string path = directory + "/" + folder;
  TRY(os::make_directories(path));
  const std::string file = path + "/" + track::event_file_name(exporter.begin(), run.id, 0);
  TRY(os::write_file_atomic(file, exporter.bytes()));
  return file;
}

}  // namespace hearth::cli
