// What runs have in common: the catalogue of keys, groups with aggregates.
#include <algorithm>
#include <cmath>

#include "control/tracking/run_match.h"
#include "control/tracking/state.h"
#include "domain/scalar.h"

namespace hearth::control {
namespace {

constexpr size_t kMostIdsOfGroup = 100;
constexpr size_t kMostGroups = 100'000;
constexpr int64_t kMostListed = 10'000;
constexpr int kMostRounds = 3;  // while the index is read anew

bool contains_folded(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::ranges::search(text, part, same).begin() != text.end() || part.empty();
}

// Welford's way: exact enough for any number of runs.
struct Sum {
  int64_t count = 0;
  double min = 0, max = 0, mean = 0, squares = 0, sum = 0;
  void add(double value) {
    min = count == 0 ? value : std::min(min, value);
    max = count == 0 ? value : std::max(max, value);
    ++count;
    sum += value;
    const double delta = value - mean;
    mean += delta / static_cast<double>(count);
    squares += delta * (value - mean);
  }
  std::optional<double> get(Aggregate wanted) const {
    if (wanted == Aggregate::count) return static_cast<double>(count);
    if (count == 0) return std::nullopt;
    switch (wanted) {
      case Aggregate::min:
        return min;
      case Aggregate::max:
        return max;
      case Aggregate::mean:
        return mean;
      case Aggregate::sum:
        return sum;
      default:
        return count < 2 ? 0 : std::sqrt(squares / static_cast<double>(count - 1));
    }
  }
};

std::optional<double> number_of(const Held& held) {
  if (held.kind != Held::Kind::value) return std::nullopt;
  const auto number = held.is_number ? std::optional(held.number) : real_of(held.text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string text_of(const Held& held) {
  if (!held.is_number) return std::string(held.text);
  if (held.kind == Held::Kind::nan) return "NaN";
  std::string text;
  write_json_real(held.number, text);
  return text;
}

// A task's token sees its job's runs alone.
std::string job_limit(const Identity& who) {
  return who.kind == TokenKind::task ? who.job_id : std::string();
}

struct Gathered {
  Group group;
  std::vector<Sum> sums;
};

void gather(const RunIndex::View& view, uint32_t slot, const GroupQuery& query,
            const std::vector<RunReader::Get>& by, const std::vector<RunReader::Get>& of,
            std::map<std::vector<std::optional<std::string>>, Gathered>& groups, bool& over) {
  std::vector<std::optional<std::string>> values;
  for (const auto& get : by) {
    const Held held = get(slot);
    if (held.kind == Held::Kind::missing)
      values.emplace_back();
    else
      values.emplace_back(text_of(held));
  }
  auto at = groups.find(values);
  if (at == groups.end()) {
    if (groups.size() >= kMostGroups) {
      over = true;
      return;
    }
    at = groups.emplace(values, Gathered{}).first;
    at->second.group.values = values;
    at->second.sums.resize(query.aggregates.size());
  }
  Gathered& into = at->second;
  ++into.group.runs;
  if (into.group.run_ids.size() < kMostIdsOfGroup) into.group.run_ids.push_back(view.runs[slot].id);
  for (size_t i = 0; i < of.size(); ++i)
    if (const auto number = number_of(of[i](slot))) into.sums[i].add(*number);
}

using Catalogue = std::map<std::pair<Side, std::string>, KeyInfo>;

void count(Catalogue& catalogue, const KeyQuery& query, Side side, const std::string& key) {
  auto at = catalogue.find({side, key});
  if (at == catalogue.end()) {
    if (!contains_folded(key, query.search)) return;
    at = catalogue.emplace(std::pair(side, key), KeyInfo{side, key, 0, {}, {}}).first;
  }
  ++at->second.runs;
}

}  // namespace

Result<GroupPage> Tracking::groups(const Identity& who, const GroupQuery& query) {
  State& state = *state_;
  RunSearch search = query.runs;
  for (const Column& column : query.group_by) search.order_by.push_back({column, false});
  for (const auto& wanted : query.aggregates) search.order_by.push_back({wanted.column, false});
  search = TRY(state.resolved(who, search));  // its order only names the columns
  const auto projects = TRY(state.visible(who, search.project));
  std::map<std::vector<std::optional<std::string>>, Gathered> groups;
  bool over = false;
  TRY(state.index.read(metric_keys_of(search), [&](const RunIndex::View& view) -> Result<void> {
    const Predicate matches = predicate_of(view, search, projects, job_limit(who));
    const RunReader reader(view);
    std::vector<RunReader::Get> by, of;
    for (const Column& column : query.group_by) by.push_back(reader.reader(column));
    for (const auto& wanted : query.aggregates) of.push_back(reader.reader(wanted.column));
    for (uint32_t slot = 0; slot < view.runs.size(); ++slot)
      if (matches(slot)) gather(view, slot, query, by, of, groups, over);
    return {};
  }));
  if (over)
    return Error::of(Code::too_large, format("these are more than {} groups", kMostGroups),
                     "group by columns with fewer values");
  GroupPage page;
  page.total = static_cast<int64_t>(groups.size());
  for (auto& [values, gathered] : groups) {
    for (size_t i = 0; i < query.aggregates.size(); ++i)
      gathered.group.aggregates.push_back(gathered.sums[i].get(query.aggregates[i].aggregate));
    page.groups.push_back(std::move(gathered.group));
  }
  std::ranges::sort(page.groups, [](const Group& a, const Group& b) {
    return a.runs != b.runs ? a.runs > b.runs : a.values < b.values;
  });
  const auto limit = static_cast<size_t>(std::clamp<int64_t>(query.limit, 1, kMostListed));
  if (page.groups.size() > limit) page.groups.resize(limit);
  return page;
}

Result<KeyPage> Tracking::keys(const Identity& who, const KeyQuery& query) {
  State& state = *state_;
  RunSearch search = query.runs;
  search.order_by.clear();
  search = TRY(state.resolved(who, search));
  const auto projects = TRY(state.visible(who, search.project));
  const auto wants = [&](Side side) {
    return std::ranges::find(query.sides, side) != query.sides.end();
  };
  Catalogue catalogue;
  std::vector<bool> chosen;
  uint64_t generation = 0;
  const auto work = [&](const RunIndex::View& view) -> Result<void> {
    catalogue.clear();
    chosen.assign(view.runs.size(), false);
    generation = view.generation;
    const Predicate matches = predicate_of(view, search, projects, job_limit(who));
    for (uint32_t slot = 0; slot < view.runs.size(); ++slot) {
      if (!matches(slot)) continue;
      chosen[slot] = true;
      if (wants(Side::param))
        for (const auto& [key, value] : view.runs[slot].params)
          count(catalogue, query, Side::param, view.words.text(key));
      if (wants(Side::tag))
        for (const auto& [key, value] : view.runs[slot].tags)
          count(catalogue, query, Side::tag, view.words.text(key));
    }
    return {};
  };
  for (int round = 1;; ++round) {
    TRY(state.index.read(metric_keys_of(search), work));
    if (!wants(Side::metric)) break;
    auto uses = state.index.metric_uses(chosen, generation, [&](std::string_view key) {
      return contains_folded(key, query.search);
    });
    if (!uses.ok() && uses.error().code == Code::conflict && round < kMostRounds) continue;
    TRY(uses);
    for (const auto& [key, use] : *uses)
      catalogue[{Side::metric, key}] = {Side::metric, key, use.runs, use.min, use.max};
    break;
  }
  KeyPage page;
  page.total = static_cast<int64_t>(catalogue.size());
  const auto limit = static_cast<size_t>(std::clamp<int64_t>(query.limit, 1, kMostListed));
  std::string last;
  for (auto& [name, info] : catalogue) {
    const std::string place = format("{}:{}", static_cast<int>(name.first), name.second);
    if (!query.cursor.empty() && place <= query.cursor) continue;
    if (page.keys.size() == limit) {
      page.next_cursor = last;
      break;
    }
    last = place;
    page.keys.push_back(std::move(info));
  }
  return page;
}

}  // namespace hearth::control
