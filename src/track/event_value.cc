#include "track/event_value.h"

#include <charconv>
#include <cmath>

#include "base/format.h"
#include "track/protobuf.h"

namespace hearth::track {
namespace {

// tensorflow/core/framework/types.proto
enum DataType : uint64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
};
constexpr size_t kMostDimensions = 8;
constexpr size_t kMostNumbers = 3 * kMostHistogramBins;

struct Tensor {
  uint64_t type = 0;
  std::vector<int64_t> shape;
  std::vector<double> numbers;
  std::vector<std::string_view> texts;
};

template <typename T>
void add_all(std::string_view content, std::vector<double>& to) {
  const size_t count = std::min(content.size() / sizeof(T), kMostNumbers);
  for (size_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, content.data() + i * sizeof(T), sizeof value);
    to.push_back(static_cast<double>(value));
  }
}

// IEEE 754 of 16 bits.
double half(uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return bits & 1023 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}
double bfloat(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits & 0xffff) << 16);
}

void add_content(std::string_view content, Tensor& tensor) {
  switch (tensor.type) {
    case kFloat:
      return add_all<float>(content, tensor.numbers);
    case kDouble:
      return add_all<double>(content, tensor.numbers);
    case kInt32:
      return add_all<int32_t>(content, tensor.numbers);
    case kInt64:
      return add_all<int64_t>(content, tensor.numbers);
    case kUint8:
    case kBool:
      return add_all<uint8_t>(content, tensor.numbers);
    case kInt8:
      return add_all<int8_t>(content, tensor.numbers);
    case kInt16:
      return add_all<int16_t>(content, tensor.numbers);
    case kUint16:
      return add_all<uint16_t>(content, tensor.numbers);
    case kUint32:
      return add_all<uint32_t>(content, tensor.numbers);
    case kUint64:
      return add_all<uint64_t>(content, tensor.numbers);
    case kHalf:
    case kBfloat16: {
      std::vector<double> bits;
      add_all<uint16_t>(content, bits);
      for (const double each : bits)
        tensor.numbers.push_back(tensor.type == kHalf ? half(static_cast<uint64_t>(each))
                                                      : bfloat(static_cast<uint64_t>(each)));
      return;
    }
    default:
      return;
  }
}

// The typed lists: packed, or one by one.
void add_listed(const ProtoField& field, Tensor& tensor) {
  const auto add = [&](double value) {
    if (tensor.numbers.size() < kMostNumbers) tensor.numbers.push_back(value);
  };
  const auto add_integer = [&](uint64_t value) {
    if (field.number != 13) return add(static_cast<double>(static_cast<int64_t>(value)));
    add(tensor.type == kBfloat16 ? bfloat(value) : half(value));
  };
  const bool reals = field.number == 5 || field.number == 6;
  if (field.wire != ProtoWire::bytes) return reals ? add(field.real()) : add_integer(field.value);
  if (field.number == 5) return add_all<float>(field.bytes, tensor.numbers);
  if (field.number == 6) return add_all<double>(field.bytes, tensor.numbers);
  std::string_view rest = field.bytes;
  while (const auto value = ProtoReader::take_varint(rest)) add_integer(*value);
}

Result<void> read_shape(std::string_view message, std::vector<int64_t>& shape) {
  ProtoReader fields(message);
  while (const auto field = TRY(fields.next())) {
    if (field->number != 2 || field->wire != ProtoWire::bytes) continue;
    int64_t size = 0;
    ProtoReader dimension(field->bytes);
    while (const auto part = TRY(dimension.next()))
      if (part->number == 1 && part->wire == ProtoWire::varint) size = part->integer();
    if (shape.size() == kMostDimensions) return Error::invalid("a tensor has too many dimensions");
    shape.push_back(size);
  }
  return {};
}

Result<Tensor> read_tensor(std::string_view message) {
  Tensor tensor;
  std::string_view content;
  ProtoReader first(message);  // the type may stand behind the values
  while (const auto field = TRY(first.next())) {
    if (field->number == 1 && field->wire == ProtoWire::varint) tensor.type = field->value;
    if (field->number == 2 && field->wire == ProtoWire::bytes)
      TRY(read_shape(field->bytes, tensor.shape));
    if (field->number == 4 && field->wire == ProtoWire::bytes) content = field->bytes;
  }
  add_content(content, tensor);
  ProtoReader second(message);
  while (const auto field = TRY(second.next())) {
    switch (field->number) {
      case 5:   // float
      case 6:   // double
      case 7:   // int32 and smaller
      case 10:  // int64
      case 11:  // bool
      case 13:  // half, bfloat16
      case 16:  // uint32
      case 17:  // uint64
        add_listed(*field, tensor);
        break;
      case 8:
        if (field->wire == ProtoWire::bytes && tensor.texts.size() < kMostEventTexts)
          tensor.texts.push_back(field->bytes);
        break;
      default:
        break;
    }
  }
  return tensor;
}

bool is_image_file(std::string_view bytes) {
  return bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8\xff") ||
         bytes.starts_with("GIF8");
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool fill_image(EventValue& value, const Tensor& tensor) {
  if (tensor.texts.size() < 3) return false;
  const auto width = whole_number(tensor.texts[0]), height = whole_number(tensor.texts[1]);
  if (!width || !height) return false;
  value.kind = EventValue::Kind::image;
  value.width = *width;
  value.height = *height;
  value.texts.assign(tensor.texts.begin() + 2, tensor.texts.end());
  return true;
}

bool fill_text(EventValue& value, const Tensor& tensor) {
  value.kind = EventValue::Kind::text;
  value.texts.assign(tensor.texts.begin(), tensor.texts.end());
  return !value.texts.empty();
}

bool fill_scalar(EventValue& value, const Tensor& tensor) {
  if (tensor.numbers.size() != 1) return false;
  value.kind = EventValue::Kind::scalar;
  value.scalar = tensor.numbers.front();
  return true;
}

// Rows of (left, right, count). A run of equal values is a bin without width.
bool fill_histogram(EventValue& value, const Tensor& tensor) {
  const std::vector<double>& rows = tensor.numbers;
  if (rows.size() % 3 != 0 || rows.size() / 3 > kMostHistogramBins) return false;
  value.kind = EventValue::Kind::histogram;
  EventHistogram& histogram = value.histogram;
  for (size_t i = 0; i < rows.size(); i += 3) {
    if (histogram.edges.empty()) histogram.edges.push_back(rows[i]);
    histogram.edges.push_back(rows[i + 1]);
    histogram.counts.push_back(rows[i + 2]);
    histogram.count += rows[i + 2];
    const double middle = (rows[i] + rows[i + 1]) / 2;
    histogram.sum += middle * rows[i + 2];
    histogram.sum_squares += middle * middle * rows[i + 2];
  }
  if (histogram.edges.empty()) return true;
  histogram.min = histogram.edges.front();
  histogram.max = histogram.edges.back();
  return true;
}

Result<bool> fill_tensor(EventValue& value, const RawValue& raw) {
  const Tensor tensor = TRY(read_tensor(raw.tensor));
  if (raw.plugin == "scalars") return fill_scalar(value, tensor);
  if (raw.plugin == "histograms") return fill_histogram(value, tensor);
  if (raw.plugin == "images") return fill_image(value, tensor);
  if (raw.plugin == "text") return fill_text(value, tensor);
  if (!raw.plugin.empty()) return false;
  if (tensor.type == kString) {
    const bool image = tensor.texts.size() > 2 && is_image_file(tensor.texts[2]);
    return image ? fill_image(value, tensor) : fill_text(value, tensor);
  }
  if (tensor.shape.size() == 2 && tensor.shape[1] == 3) return fill_histogram(value, tensor);
  return fill_scalar(value, tensor);
}

// HistogramProto: bucket_limit are right ends, the first bucket begins at the least value.
Result<bool> fill_old_histogram(EventValue& value, std::string_view message) {
  value.kind = EventValue::Kind::histogram;
  EventHistogram& histogram = value.histogram;
  std::vector<double> limits;
  ProtoReader fields(message);
  while (const auto field = TRY(fields.next())) {
    double* const single = field->number == 1   ? &histogram.min
                           : field->number == 2 ? &histogram.max
                           : field->number == 3 ? &histogram.count
                           : field->number == 4 ? &histogram.sum
                           : field->number == 5 ? &histogram.sum_squares
                                                : nullptr;
    if (single != nullptr) *single = field->real();
    if (field->number != 6 && field->number != 7) continue;
    std::vector<double>& to = field->number == 6 ? limits : histogram.counts;
    if (field->wire == ProtoWire::bytes)
      add_all<double>(field->bytes, to);
    else if (to.size() <= kMostHistogramBins)
      to.push_back(field->real());
  }
  if (limits.size() != histogram.counts.size() || limits.size() > kMostHistogramBins) return false;
  if (limits.empty()) return true;
  histogram.edges.push_back(std::min(histogram.min, limits.front()));
  histogram.edges.insert(histogram.edges.end(), limits.begin(), limits.end());
  return true;
}

Result<bool> fill_old_image(EventValue& value, std::string_view message) {
  value.kind = EventValue::Kind::image;
  ProtoReader fields(message);
  while (const auto field = TRY(fields.next())) {
    if (field->number == 1) value.height = field->integer();
    if (field->number == 2) value.width = field->integer();
    if (field->number == 4 && field->wire == ProtoWire::bytes)
      value.texts.assign(1, std::string(field->bytes));
  }
  return !value.texts.empty();
}

Result<std::string> plugin_of(std::string_view metadata) {
  std::string name;
  ProtoReader fields(metadata);
  while (const auto field = TRY(fields.next())) {
    if (field->number != 1 || field->wire != ProtoWire::bytes) continue;
    ProtoReader data(field->bytes);
    while (const auto part = TRY(data.next()))
      if (part->number == 1 && part->wire == ProtoWire::bytes) name = part->bytes;
  }
  return name;
}

// --- writing ---------------------------------------------------------------------------------

enum DataClass : uint64_t { kTensorClass = 2, kBlobClass = 3 };

void put_metadata(ProtoWriter& to, std::string_view plugin, DataClass data_class) {
  ProtoWriter data, metadata;
  data.bytes(1, plugin);
  metadata.bytes(1, data.text());
  metadata.varint(4, data_class);
  to.bytes(9, metadata.text());
}

std::string shape_of(std::initializer_list<size_t> sizes) {
  ProtoWriter shape;
  for (const size_t size : sizes) {
    ProtoWriter dimension;
    dimension.varint(1, size);
    shape.bytes(2, dimension.text());
  }
  return shape.text();
}

void put_texts(ProtoWriter& to, const std::vector<std::string>& texts) {
  ProtoWriter tensor;
  tensor.varint(1, kString);
  tensor.bytes(2, shape_of({texts.size()}));
  for (const std::string& text : texts) tensor.bytes(8, text);
  to.bytes(8, tensor.text());
}

void put_histogram(ProtoWriter& to, const EventHistogram& histogram) {
  std::vector<double> rows;
  for (size_t i = 0; i < histogram.counts.size() && i + 1 < histogram.edges.size(); ++i)
    rows.insert(rows.end(), {histogram.edges[i], histogram.edges[i + 1], histogram.counts[i]});
  ProtoWriter tensor;
  tensor.varint(1, kDouble);
  tensor.bytes(2, shape_of({rows.size() / 3, 3}));
  tensor.bytes(4, {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(double)});
  to.bytes(8, tensor.text());
}

}  // namespace

Result<RawValue> raw_value(std::string_view message) {
  RawValue raw;
  ProtoReader fields(message);
  while (const auto field = TRY(fields.next())) {
    const bool bytes = field->wire == ProtoWire::bytes;
    switch (field->number) {
      case 1:
        if (bytes) raw.tag = field->bytes;
        break;
      case 2:
        if (field->wire == ProtoWire::fixed32) raw.simple_value = field->real();
        break;
      case 4:
        raw.has_image = bytes;
        raw.image = field->bytes;
        break;
      case 5:
        raw.has_histogram = bytes;
        raw.histogram = field->bytes;
        break;
      case 8:
        raw.has_tensor = bytes;
        raw.tensor = field->bytes;
        break;
      case 9:
        if (bytes) raw.plugin = TRY(plugin_of(field->bytes));
        break;
      default:
        break;
    }
  }
  return raw;
}

Result<bool> fill(EventValue& value, const RawValue& raw) {
  if (raw.simple_value) {
    value.scalar = *raw.simple_value;
    return true;
  }
  if (raw.has_image) return fill_old_image(value, raw.image);
  if (raw.has_histogram) return fill_old_histogram(value, raw.histogram);
  if (raw.has_tensor) return fill_tensor(value, raw);
  return false;
}

std::string proto_of(const EventValue& value) {
  ProtoWriter out;
  out.bytes(1, value.tag);
  switch (value.kind) {
    case EventValue::Kind::scalar:
      out.real32(2, static_cast<float>(value.scalar));
      break;
    case EventValue::Kind::histogram:
      put_metadata(out, "histograms", kTensorClass);
      put_histogram(out, value.histogram);
      break;
    case EventValue::Kind::text:
      put_metadata(out, "text", kTensorClass);
      put_texts(out, value.texts);
      break;
    case EventValue::Kind::image: {
      put_metadata(out, "images", kBlobClass);
      std::vector<std::string> parts{format("{}", value.width), format("{}", value.height)};
      parts.insert(parts.end(), value.texts.begin(), value.texts.end());
      put_texts(out, parts);
      break;
    }
  }
  return out.text();
}

}  // namespace hearth::track
