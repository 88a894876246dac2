// Which runs match, and in which order they stand: comparisons and orders made ready for the index.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/tracking/run_index.h"
#include "control/tracking/run_search.h"

namespace hearth::control {

// A value of a run. Numbers before NaN before what is missing, in every direction.
struct Held {
  enum class Kind : uint8_t { value, nan, missing };
  Kind kind = Kind::missing;
  bool is_number = false;
  double number = 0;
  std::string_view text;
};

// The metrics that a search looks at; their columns must be in memory.
std::vector<std::string> metric_keys_of(const RunSearch& query);
// invalid: unknown attributes and operators that do not fit.
Result<void> check_search(const RunSearch& query);
// The type of an attribute, or nothing if there is none of that name.
enum class AttributeType { text, number };
std::optional<AttributeType> attribute_type(std::string_view key);

// Reads values of runs out of a view of the index; lives no longer than it.
class RunReader {
 public:
  explicit RunReader(const RunIndex::View& view) : view_(view) {}
  // A reader of one column. What it gives stays while the view does, or until it is called again.
  using Get = std::function<Held(uint32_t slot)>;
  Get reader(const Column& column) const;
  std::string uri(uint32_t slot) const;

 private:
  Get attribute(const std::string& key) const;
  const RunIndex::View& view_;
};

using Predicate = std::function<bool(uint32_t slot)>;
// All of a search's comparisons, its experiments, view and projects (nothing: every project) in
// one.
Predicate predicate_of(const RunIndex::View& view, const RunSearch& query,
                       const std::optional<std::set<std::string>>& projects,
                       const std::string& job_id);

// The order of a search, with a place in it that can be written down.
class RunOrder {
 public:
  RunOrder(const RunIndex::View& view, const RunSearch& query);
  // Looks the first numbers of these runs up, once: they are compared many times.
  void hold(const std::vector<uint32_t>& slots);
  // Below zero: a stands before b.
  int compare(uint32_t a, uint32_t b) const;
  bool less(uint32_t a, uint32_t b) const { return compare(a, b) < 0; }
  // The place of a run as a cursor, and whether a run stands behind such a place.
  std::string cursor(uint32_t slot) const;
  Result<void> set_place(const std::string& cursor);
  bool behind_place(uint32_t slot) const;

 private:
  struct Key {
    Held held;
    std::string text;
  };
  struct Number {
    double number = 0;
    Held::Kind kind = Held::Kind::missing;
  };
  static int compare(const Held& a, const Held& b, bool descending);
  int tail(uint32_t a, int64_t start, std::string_view id) const;

  const RunIndex::View& view_;
  std::vector<RunReader::Get> get_;
  std::vector<bool> descending_;
  bool by_number_ = false;       // first of all
  std::vector<Number> numbers_;  // by slot; empty: not held
  std::string name_;             // of the order, so that a cursor of another one is refused
  std::vector<Key> place_;
  int64_t place_start_ = 0;
  std::string place_id_;
};

}  // namespace hearth::control
