#include "shim/event_artifact.h"

#include <cmath>

#include "base/bytes.h"
#include "base/format.h"
#include "domain/codec.h"

namespace hearth::shim {
namespace {

constexpr size_t kMostNameBytes = 120;

// As the SDK: characters that a file's name is better without become '_', and a checksum of the
// name tells apart what would be the same then.
std::string file_name(const std::string& key) {
  std::string clean;
  for (const char c : key) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '-' || c == '/' || (c == '.' && !clean.ends_with('.'));
    const bool doubled = c == '/' && (clean.empty() || clean.ends_with('/'));
    clean += plain && !doubled ? c : '_';
  }
  if (clean.size() > kMostNameBytes) clean.resize(kMostNameBytes);
  while (clean.ends_with('/') || clean.ends_with('.')) clean.back() = '_';
  if (clean == key) return clean;
  return format("{}-{:08x}", clean, crc32c(as_bytes(key)));
}

const char* image_ending(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return "jpg";
  if (bytes.starts_with("GIF8")) return "gif";
  return "png";
}

std::string number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return format("{}", value);
}
std::string list(const std::vector<double>& values) {
  std::string out = "[";
  for (const double value : values) out += (out.size() > 1 ? "," : "") + number(value);
  return out + "]";
}

std::string histogram_json(const track::EventValue& value, const std::string& key) {
  const track::EventHistogram& h = value.histogram;
  return format(
      "{{\"name\":{},\"step\":{},\"edges\":{},\"counts\":{},\"min\":{},\"max\":{},\"count\":{},"
      "\"sum\":{},\"sum_squares\":{}}}\n",
      json_quote(key), value.step, list(h.edges), list(h.counts), number(h.min), number(h.max),
      number(h.count), number(h.sum), number(h.sum_squares));
}

}  // namespace

std::vector<MadeFile> files_of(const track::EventValue& value, const std::string& key) {
  std::vector<MadeFile> made;
  const auto add = [&](const std::string& part, const char* kind, const std::string& ending,
                       std::string bytes) {
    made.push_back({format("tensorboard/{}{}-{:010}.{}", file_name(key), part, value.step, ending),
                    key, kind, std::move(bytes)});
  };
  switch (value.kind) {
    case track::EventValue::Kind::image:
      for (size_t i = 0; i < value.texts.size(); ++i)
        add(i == 0 ? "" : format("-{}", i), "image", image_ending(value.texts[i]), value.texts[i]);
      break;
    case track::EventValue::Kind::text: {
      std::string text;
      for (const std::string& part : value.texts) text += (text.empty() ? "" : "\n\n") + part;
      add("", "text", "txt", to_utf8_lossy(text) + "\n");
      break;
    }
    case track::EventValue::Kind::histogram:
      add("", "histogram", "histogram.json", histogram_json(value, key));
      break;
    case track::EventValue::Kind::scalar:
      break;
  }
  return made;
}

}  // namespace hearth::shim
