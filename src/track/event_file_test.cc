#include "track/event_file.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "track/protobuf.h"

namespace hearth::track {
namespace {

constexpr Time kTime{1'700'000'000'250'000};

EventValue scalar(const std::string& tag, int64_t step, double value) {
  EventValue out;
  out.tag = tag;
  out.step = step;
  out.time = kTime;
  out.scalar = value;
  return out;
}

std::vector<EventValue> one_of_each() {
  EventValue histogram = scalar("weights", 3, 0);
  histogram.kind = EventValue::Kind::histogram;
  histogram.histogram = {-1, 2, 6, 4.5, 4.75, {-1, 0, 2}, {1, 5}};
  EventValue image = scalar("samples/0", 4, 0);
  image.kind = EventValue::Kind::image;
  image.width = 2;
  image.height = 1;
  image.texts = {"\x89PNG\r\n", "\x89PNG second"};
  EventValue text = scalar("notes", -5, 0);
  text.kind = EventValue::Kind::text;
  text.texts = {"first *line*", ""};
  return {scalar("loss", 1, 0.5), scalar("loss", INT64_MAX, -0.25), histogram, image, text};
}

std::string file_of(const std::vector<EventValue>& values) {
  std::string bytes = event_file_header(kTime);
  for (const EventValue& value : values) bytes += event_record_of({value});
  return bytes;
}

struct Found {
  std::vector<EventValue> values;
  Result<void> end;
  int64_t offset = 0, left_out = 0;
};
Found read_in_pieces(std::string_view bytes, size_t piece) {
  Found found;
  EventReader reader("f");
  while (!bytes.empty() && found.end.ok()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    found.end = reader.feed(part, [&](EventValue&& v) { found.values.push_back(std::move(v)); });
  }
  found.offset = reader.offset();
  found.left_out = reader.left_out();
  return found;
}

// A Summary.Value in an event, by hand: as other writers make them.
std::string record_with(const std::string& value) {
  ProtoWriter summary, event;
  summary.bytes(1, value);
  event.real(1, 1.5);
  event.varint(2, 7);
  event.bytes(5, summary.text());
  return event_record(event.text());
}
std::string metadata_of(const std::string& plugin) {
  ProtoWriter data, metadata;
  data.bytes(1, plugin);
  metadata.bytes(1, data.text());
  return metadata.text();
}

TEST(EventFile, BeginsAsTensorFlowsDo) {
  // The first bytes of every event file that TensorFlow writes: 24, its masked CRC, the time's tag.
  const std::string expected("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09", 13);
  EXPECT_EQ(event_file_header(kTime).substr(0, 13), expected);
  EXPECT_NE(event_file_header(kTime).find("brain.Event:2"), std::string::npos);
  EXPECT_TRUE(is_event_file_name(event_file_name(kTime, "node", 0)));
}

TEST(EventFile, GivesBackWhatWasWrittenInPiecesOfAnySize) {
  const std::vector<EventValue> values = one_of_each();
  const std::string bytes = file_of(values);
  for (const size_t piece : {size_t{1}, size_t{5}, size_t{64}, bytes.size()}) {
    const Found found = read_in_pieces(bytes, piece);
    ASSERT_TRUE(found.end.ok());
    EXPECT_EQ(found.offset, static_cast<int64_t>(bytes.size()));
    ASSERT_EQ(found.values.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(found.values[i].tag, values[i].tag);
    EXPECT_EQ(found.values[1], values[1]);
    EXPECT_EQ(found.values[2].histogram.edges, values[2].histogram.edges);
    EXPECT_EQ(found.values[2].histogram.counts, values[2].histogram.counts);
    EXPECT_EQ(found.values[3], values[3]);
    EXPECT_EQ(found.values[4], values[4]);
  }
}

TEST(EventFile, StopsAtATornRecordAndGoesOnFromThere) {
  const std::vector<EventValue> values = one_of_each();
  const std::string bytes = file_of(values);
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    const Found first = read_in_pieces(std::string_view(bytes).substr(0, cut), 4096);
    ASSERT_TRUE(first.end.ok()) << cut;
    ASSERT_LE(first.offset, static_cast<int64_t>(cut));
    EventReader second("f", first.offset);
    size_t rest = 0;
    ASSERT_TRUE(second
                    .feed(std::string_view(bytes).substr(static_cast<size_t>(first.offset)),
                          [&](EventValue&&) { ++rest; })
                    .ok());
    ASSERT_EQ(first.values.size() + rest, values.size()) << cut;
  }
}

TEST(EventFile, NamesAFlippedBitAndGivesNothingBehindIt) {
  const std::string good = file_of(one_of_each());
  const size_t header = event_file_header(kTime).size();
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const Found found = read_in_pieces(bytes, 4096);
    ASSERT_FALSE(found.end.ok()) << at;
    EXPECT_NE(found.end.error().detail.find("is damaged at byte"), std::string::npos);
    if (at < header) EXPECT_TRUE(found.values.empty());
    EventReader reader("f");
    EXPECT_FALSE(reader.feed(bytes, [](EventValue&&) {}).ok());
    EXPECT_FALSE(reader.feed(good, [](EventValue&&) {}).ok()) << "broken stays broken";
  }
}

TEST(EventFile, KeepsNumbersThatAreNone) {
  const double inf = std::numeric_limits<double>::infinity();
  const Found found = read_in_pieces(
      file_of({scalar("a", 1, inf), scalar("a", 2, -inf), scalar("a", 3, std::nan(""))}), 99);
  ASSERT_EQ(found.values.size(), 3U);
  EXPECT_EQ(found.values[0].scalar, inf);
  EXPECT_EQ(found.values[1].scalar, -inf);
  EXPECT_TRUE(std::isnan(found.values[2].scalar));
}

TEST(EventFile, ScalarsAsTensorsWhosePluginIsNamedOnce) {
  const auto value = [](uint64_t type, uint32_t field, const auto& put, bool named) {
    ProtoWriter tensor, out;
    tensor.varint(1, type);
    tensor.bytes(2, "");
    put(tensor, field);
    out.bytes(1, "acc");
    out.bytes(8, tensor.text());
    if (named) out.bytes(9, metadata_of("scalars"));
    return record_with(out.text());
  };
  const float f = 0.75F;
  const double d = 0.1;
  const std::string content(reinterpret_cast<const char*>(&f), sizeof f);
  const auto as_content = [&](ProtoWriter& t, uint32_t field) { t.bytes(field, content); };
  const auto as_float = [&](ProtoWriter& t, uint32_t field) { t.real32(field, f); };
  const auto as_double = [&](ProtoWriter& t, uint32_t field) { t.reals(field, &d, 1); };
  const auto as_whole = [](ProtoWriter& t, uint32_t field) { t.varint(field, 3); };
  const auto as_half = [](ProtoWriter& t, uint32_t field) { t.varint(field, 0x3c00); };
  const Found found = read_in_pieces(
      value(1, 4, as_content, true) + value(1, 5, as_float, false) + value(2, 6, as_double, false) +
          value(9, 10, as_whole, false) + value(19, 13, as_half, false),
      1000);
  ASSERT_TRUE(found.end.ok());
  std::vector<double> values;
  for (const EventValue& each : found.values) {
    EXPECT_EQ(each.kind, EventValue::Kind::scalar);
    EXPECT_EQ(each.step, 7);
    EXPECT_EQ(each.time, Time{1'500'000});
    values.push_back(each.scalar);
  }
  EXPECT_EQ(values, (std::vector<double>{0.75, 0.75, 0.1, 3, 1}));
}

TEST(EventFile, OldHistogramsAndImages) {
  const double limits[] = {0, 1, 2}, counts[] = {1, 2, 3};
  ProtoWriter histogram, first, image, second, audio;
  histogram.real(1, -4);
  histogram.real(2, 1.5);
  histogram.real(3, 6);
  histogram.reals(6, limits, 3);
  histogram.reals(7, counts, 3);
  first.bytes(1, "w");
  first.bytes(5, histogram.text());
  image.varint(1, 8);
  image.varint(2, 9);
  image.bytes(4, "\x89PNG...");
  second.bytes(1, "im");
  second.bytes(4, image.text());
  audio.bytes(1, "sound");
  audio.bytes(6, "RIFF");
  const Found found = read_in_pieces(
      record_with(first.text()) + record_with(second.text()) + record_with(audio.text()), 1000);
  ASSERT_EQ(found.values.size(), 2U);
  EXPECT_EQ(found.values[0].histogram.edges, (std::vector<double>{-4, 0, 1, 2}));
  EXPECT_EQ(found.values[0].histogram.counts, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(found.values[1].width, 9);
  EXPECT_EQ(found.values[1].height, 8);
  EXPECT_EQ(found.left_out, 1);
}

TEST(EventFile, PassesOverARecordThatIsTooLarge) {
  const std::string large(kMostEventBytes + 1, 'x');
  const std::string bytes = event_record(large) + event_record_of({scalar("loss", 1, 2)});
  for (const size_t piece : {bytes.size(), size_t{1 << 20}}) {
    const Found found = read_in_pieces(bytes, piece);
    ASSERT_TRUE(found.end.ok());
    EXPECT_EQ(found.left_out, 1);
    EXPECT_EQ(found.values.size(), 1U);
    EXPECT_EQ(found.offset, static_cast<int64_t>(bytes.size()));
  }
}

}  // namespace
}  // namespace hearth::track
