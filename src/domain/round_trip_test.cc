// Every described struct, filled with random values, comes back from JSON as it was.
#include <bit>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "domain/capacity.h"
#include "domain/dataset.h"
#include "domain/event.h"
#include "domain/job.h"
#include "domain/lineage.h"
#include "domain/model.h"
#include "domain/node.h"
#include "domain/pattern.h"
#include "domain/project.h"
#include "domain/run.h"
#include "domain/scalar.h"
#include "domain/topology.h"
#include "domain/what_if.h"
#include "domain/wire/api.h"
#include "domain/wire/sync.h"
#include "domain/wire/task_spec.h"
#include "domain/wire/tracking.h"

namespace hearth {
namespace {

constexpr int kRounds = 60;
constexpr int kDeepestRandom = 3;

class Filler {
 public:
  explicit Filler(uint64_t seed) : random_(seed) {}

  void fill(const Type& type, void* object) {
    switch (type.kind) {
      case Kind::boolean:
        return type.set_integer(object, chance(2));
      case Kind::enumeration:
        return type.set_integer(object, static_cast<int64_t>(random_.below(type.words.size())));
      case Kind::integer:
        return type.set_integer(object, integer(type.lowest, type.highest));
      case Kind::real:
        *static_cast<double*>(object) = real();
        return;
      case Kind::text:
        *static_cast<std::string*>(object) = text();
        return;
      case Kind::any:
        static_cast<AnyJson*>(object)->text = any(0);
        return;
      case Kind::time:
        static_cast<Time*>(object)->micros = static_cast<int64_t>(random_.below(1ULL << 57));
        return;
      case Kind::size:
        static_cast<Size*>(object)->bytes = magnitude();
        return;
      case Kind::span:
        static_cast<Span*>(object)->duration.micros = magnitude();
        return;
      case Kind::list:
        type.clear(object);
        for (uint64_t n = random_.below(4); n > 0; --n)
          fill_item(*type.item, type.list_append(object));
        return;
      case Kind::map:
        type.clear(object);
        for (uint64_t n = random_.below(4); n > 0; --n)
          fill_item(*type.item,
                    type.map_insert(object, text() + std::to_string(n)));  // no key twice
        return;
      case Kind::object:
        return fill_fields(type, object);
    }
  }

 private:
  // An item that is there is never absent: an empty AnyJson in it would come back as null.
  void fill_item(const Type& type, void* item) {
    fill(type, item);
    if (type.kind == Kind::any && static_cast<AnyJson*>(item)->text.empty())
      static_cast<AnyJson*>(item)->text = "null";
  }
  bool chance(uint64_t n) { return random_.below(n) == 0; }

  void fill_fields(const Type& type, void* object) {
    const size_t only = random_.below(type.fields.size());
    for (size_t i = 0; i < type.fields.size(); ++i) {
      const Field& field = type.fields[i];
      const bool is_kept = field.is_secret || (type.one_of && i != only) || chance(3);
      if (!is_kept) fill(*field.type, field.in(object));
    }
  }

  int64_t integer(int64_t lowest, int64_t highest) {
    if (chance(8)) return chance(2) ? lowest : highest;
    const auto value = static_cast<int64_t>(random_.u64() >> random_.below(64));
    return value >= lowest && value <= highest ? value : std::max<int64_t>(0, lowest);
  }
  // Sizes and durations are exact up to 2^53.
  int64_t magnitude() {
    constexpr std::array<int64_t, 8> units = {1, 1000, 1024, 60, 3600, 1 << 20, 1'000'000, 1 << 30};
    return static_cast<int64_t>(random_.below(1 << 20)) * units[random_.below(units.size())];
  }
  double real() {
    constexpr std::array<double, 9> special = {0.0,
                                               -0.0,
                                               1,
                                               -1,
                                               1e308,
                                               5e-324,
                                               0.1,
                                               std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity()};
    if (chance(4)) return special[random_.below(special.size())];
    const double value = std::bit_cast<double>(random_.u64());
    return value == value ? value : 0.5;  // NaN equals nothing; it has a test of its own
  }
  std::string text() {
    constexpr std::array<std::string_view, 20> pieces = {
        "a", "B", "0",          " ", "\"",   "\\",   "\n", "\t", "\x01", "\x7f",
        "é", "☃", "\U0001F525", "/", "null", "true", "1",  ".5", ":",    "{"};
    std::string out;
    for (uint64_t n = random_.below(5); n > 0; --n) out += pieces[random_.below(pieces.size())];
    if (chance(20)) out += '\0';
    return out;
  }
  std::string any(int depth) {
    std::string out;
    switch (random_.below(depth < kDeepestRandom ? 7 : 5)) {
      case 0:
        return depth == 0 ? "" : "null";
      case 1:
        return chance(2) ? "true" : "false";
      case 2:
        return std::to_string(static_cast<int64_t>(random_.u64()));
      case 3:
        do {
          out.clear();
          write_json_real(real(), out);
        } while (out[0] == '"');
        return out;
      case 4:
        return json_quote(text());
      case 5:
        out = "[";
        for (uint64_t n = random_.below(3); n > 0; --n) out += any(depth + 1) + (n > 1 ? "," : "");
        return out + "]";
      default:
        out = "{";
        for (uint64_t n = random_.below(3); n > 0; --n)
          out += json_quote("k" + std::to_string(n)) + ":" + any(depth + 1) + (n > 1 ? "," : "");
        return out + "}";
    }
  }

  SeededRandom random_;
};

template <typename T>
class RoundTrip : public testing::Test {};

using Described = testing::Types<
    ManifestFile, Manifest, Dataset, DatasetVersion, Actor, Event, Delivery, GitState, Job, Place,
    Attempt, Marks, Task, Reason, Failure, Phase, Environment, CodeSource, Command, Param,
    Resources, Placement, Role, DatasetUse, CheckpointOutput, ModelOutput, Outputs, Retries, Notify,
    JobSpec, Model, ModelVersion, Gpu, NodeInfo, NumaCell, TopologyFile, LentNode, LentNuma,
    LentGpu, Peer, Token, Secret, Project, User, Membership, Artifact, Checkpoint, Amounts, Quota,
    QuotaStatus, Pool, PoolStatus, NodeOrder, NodeTask, NodeStatus, Reservation>;
using DescribedToo =
    testing::Types<Experiment, LatestMetric, UsedDataset, Run, LiveHistoryItem, SyncHead, LiveValue,
                   SyncAnswer, StateRecord, TaskRecord, TaskDataset, TaskSpec>;

using BodiesOfTheApi =
    testing::Types<SubmitBody, CheckResult, LiveBody, SignInBody, SignInCodeBody, SignInLink,
                   WhoAmI, NewTokenResult, NewUserBody, NewUserResult, UserChange, RoleBody,
                   SecretBody, UploadBody, UploadResult, StoredResult, DatasetVersionBody,
                   AliasBody, MetricHistoryPoint, MetricHistory, KeptFor, ServerStatus, FieldError,
                   Problem, TagsBody, DigestsBody, StoredObjects, LineageNode, LineageEdge, Lineage,
                   RunList, RunColumn, RunColumns, RunGroup, RunGroups, ChartQuery, ChartSeries,
                   ChartAnswer, WhatIfNodes, WhatIfQuota, WhatIf, WaitSpread, WhatIfOutcome,
                   WhatIfAnswer>;

template <typename T>
void round_trips() {
  Filler filler(42);
  for (int i = 0; i < kRounds; ++i) {
    T value{};
    filler.fill(type_of<T>(), &value);
    const std::string json = to_json(value);
    const auto back = from_json<T>(json);
    ASSERT_TRUE(back.ok()) << json << back.error().text();
    ASSERT_TRUE(*back == value) << json << "\ncame back as\n" << to_json(*back);
    ASSERT_EQ(to_json(*back), json);
    // The same text is YAML too, save what YAML forbids (some control characters).
    const auto node = parse_json(json);
    ASSERT_TRUE(node.ok());
    ASSERT_EQ(to_json(*node), json);
  }
}

template <typename T>
void check_type() {
  const Type& type = type_of<T>();
  EXPECT_FALSE(type.name.empty());
  EXPECT_FALSE(type.doc.empty()) << type.name;
  std::set<std::string_view> names;
  for (const Field& field : type.fields) {
    EXPECT_FALSE(field.doc.empty()) << type.name << "." << field.name;
    EXPECT_TRUE(names.insert(field.name).second) << type.name << "." << field.name << " twice";
    EXPECT_EQ(field.pattern.empty(), field.allowed.empty()) << type.name << "." << field.name;
    // Aborts when the pattern is none that pattern.h knows.
    if (!field.pattern.empty()) pattern_matches(field.pattern, "x");
    if (field.type->kind == Kind::text && !field.example.empty() && !field.pattern.empty())
      EXPECT_TRUE(pattern_matches(field.pattern, field.example)) << type.name << field.name;
  }
  const auto back = from_json<T>(to_json(T{}));
  EXPECT_TRUE(back.ok() && *back == T{}) << to_json(T{});
}

TYPED_TEST_SUITE(RoundTrip, Described);
TYPED_TEST(RoundTrip, ComesBack) {
  round_trips<TypeParam>();
}
TYPED_TEST(RoundTrip, HasAWholeFieldList) {
  check_type<TypeParam>();
}

template <typename T>
class RoundTripToo : public testing::Test {};
TYPED_TEST_SUITE(RoundTripToo, DescribedToo);
TYPED_TEST(RoundTripToo, ComesBack) {
  round_trips<TypeParam>();
}
TYPED_TEST(RoundTripToo, HasAWholeFieldList) {
  check_type<TypeParam>();
}

template <typename T>
class RoundTripOfBodies : public testing::Test {};
TYPED_TEST_SUITE(RoundTripOfBodies, BodiesOfTheApi);
TYPED_TEST(RoundTripOfBodies, ComesBack) {
  round_trips<TypeParam>();
}
TYPED_TEST(RoundTripOfBodies, HasAWholeFieldList) {
  check_type<TypeParam>();
}

TEST(RoundTrip, NotANumber) {
  Param param{.value = {"1"}, .min = std::numeric_limits<double>::quiet_NaN()};
  const auto back = from_json<Param>(to_json(param));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->min && *back->min != *back->min);
}

TEST(Pattern, Matches) {
  const auto yes = [](const char* p, const char* t) {
    EXPECT_TRUE(pattern_matches(p, t)) << p << t;
  };
  const auto no = [](const char* p, const char* t) {
    EXPECT_FALSE(pattern_matches(p, t)) << p << t;
  };
  yes("[a-z][a-z0-9]{0,3}", "a");
  yes("[a-z][a-z0-9]{0,3}", "ab12");
  no("[a-z][a-z0-9]{0,3}", "ab123");
  no("[a-z][a-z0-9]{0,3}", "");
  yes("(a|bc)*d?", "abcbca");
  yes("(a|bc)*d?", "d");
  no("(a|bc)*d?", "ab");
  yes("a+b{2}c{1,}", "aabbccc");
  no("a+b{2}c{1,}", "abc");
  yes("(?:x|y(z)?)+\\.\\d", "xyzy.7");
  no("[^a-c]", "b");
  yes("[^a-c]", "d");
  yes("[].-]+", "].-");
  yes(".*", "anything");
  no(".*", "a\nb");
  yes("(a?)*", "");
  yes("(a?){3}", "aa");
  no("(a?){3}", "aaaa");
}

}  // namespace
}  // namespace hearth
