#include "control/tracking/run_match.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/units.h"
#include "control/tracking/tracking.h"
#include "domain/scalar.h"

namespace hearth::control {
namespace {

struct Attribute {
  std::string_view name;
  AttributeType type;
};
constexpr std::array kAttributes = {
    Attribute{"run_id", AttributeType::text},       Attribute{"run_name", AttributeType::text},
    Attribute{"user_id", AttributeType::text},      Attribute{"status", AttributeType::text},
    Attribute{"artifact_uri", AttributeType::text}, Attribute{"experiment_id", AttributeType::text},
    Attribute{"job_id", AttributeType::text},       Attribute{"parent_id", AttributeType::text},
    Attribute{"project", AttributeType::text},      Attribute{"owner", AttributeType::text},
    Attribute{"experiment", AttributeType::text},   Attribute{"start_time", AttributeType::number},
    Attribute{"end_time", AttributeType::number},   Attribute{"created", AttributeType::number}};

constexpr std::array<std::string_view, 5> kStatus = {"RUNNING", "SCHEDULED", "FINISHED", "FAILED",
                                                     "KILLED"};

Held text_held(std::string_view text) {
  if (text.empty()) return {};
  return {.kind = Held::Kind::value, .text = text};
}
Held number_held(double number) {
  return {.kind = std::isnan(number) ? Held::Kind::nan : Held::Kind::value,
          .is_number = true,
          .number = number};
}
Held time_held(Time time) {
  if (time.micros == 0) return {};
  return number_held(std::floor(static_cast<double>(time.micros) / 1000));
}

Held value_of(const KeyValues& values, uint32_t key, const Words& words) {
  const auto at = std::ranges::lower_bound(values, key, {}, &KeyValues::value_type::first);
  if (at == values.end() || at->first != key) return {};
  return {.kind = Held::Kind::value, .text = words.text(at->second)};
}

bool numeric(const Column& column) {
  return column.side == Side::metric ||
         (column.side == Side::attribute && attribute_type(column.key) == AttributeType::number);
}

Result<void> check_column(const Column& column) {
  if (column.side == Side::attribute && !attribute_type(column.key)) {
    std::vector<std::string> names;
    for (const Attribute& known : kAttributes) names.emplace_back(known.name);
    const std::string near = nearest(column.key, names);
    return Error::invalid(format("runs have no attribute '{}'", column.key),
                          near.empty() ? format("use one of {}", join(names, ", "))
                                       : format("did you mean {}?", near));
  }
  if (column.side == Side::dataset && column.key != "name" && column.key != "digest" &&
      column.key != "context")
    return Error::invalid(format("datasets have no '{}'", column.key),
                          "use name, digest or context");
  return {};
}

Predicate comparison(const RunIndex::View& view, const Comparison& with) {
  if (with.column.side == Side::dataset) {
    const size_t part = with.column.key == "name" ? 0 : with.column.key == "digest" ? 1 : 2;
    return [&view, &with, part](uint32_t slot) {
      return std::ranges::any_of(view.runs[slot].datasets, [&](const auto& dataset) {
        return compare_texts(view.words.text(dataset[part]), with);
      });
    };
  }
  const auto get = RunReader(view).reader(with.column);
  if (numeric(with.column))
    return [get, &with](uint32_t slot) {
      const Held held = get(slot);
      return held.kind != Held::Kind::missing && compare_numbers(held.number, with.op, with.number);
    };
  return [get, &with](uint32_t slot) {
    const Held held = get(slot);
    return held.kind != Held::Kind::missing && compare_texts(held.text, with);
  };
}

void add_filter_keys(const FilterNode& node, std::vector<std::string>& keys) {
  if (node.kind == FilterNode::Kind::comparison) {
    const auto column = run_column(node.field);
    if (column && column->side == Side::metric) keys.push_back(column->key);
  }
  for (const FilterNode& part : node.parts) add_filter_keys(part, keys);
}

// Times and states as our own language writes them.
std::optional<std::string> own_text(const RunIndex::View& view, const std::string& field,
                                    uint32_t slot, const RunReader::Get& get) {
  const IndexedRun& run = view.runs[slot];
  const auto time = [](Time t) {
    return t.micros == 0 ? std::nullopt : std::optional(to_rfc3339(t));
  };
  if (field == "created_at") return time(run.created_at);
  if (field == "started_at") return time(run.started_at);
  if (field == "finished_at") return time(run.finished_at);
  if (field == "status") return std::string(word(run.status));
  if (!get) return std::nullopt;
  const Held held = get(slot);
  // The language knows no NaN: it would compare its letters.
  if (held.kind != Held::Kind::value) return std::nullopt;
  if (!held.is_number) return std::string(held.text);
  std::string text;
  write_json_real(held.number, text);
  if (text.starts_with('"')) text = text.substr(1, text.size() - 2);  // an infinity
  return text;
}

void add_gets(const RunReader& reader, const FilterNode& node,
              std::map<std::string, RunReader::Get>& gets) {
  if (node.kind == FilterNode::Kind::comparison) {
    const auto column = run_column(node.field);
    gets[node.field] = column && (column->side != Side::attribute || attribute_type(column->key))
                           ? reader.reader(*column)
                           : RunReader::Get();
  }
  for (const FilterNode& part : node.parts) add_gets(reader, part, gets);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// How many bytes the character at `text` has.
size_t character(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) ++n;
  return n;
}

}  // namespace

std::optional<Column> run_column(const std::string& field) {
  const size_t dot = field.find('.');
  if (dot != std::string::npos) {
    const std::string head = field.substr(0, dot), rest = field.substr(dot + 1);
    if (head == "params") return Column{Side::param, rest, Which::last};
    if (head == "tags") return Column{Side::tag, rest, Which::last};
    if (head != "metrics") return std::nullopt;
    if (rest.ends_with(".min"))
      return Column{Side::metric, rest.substr(0, rest.size() - 4), Which::min};
    if (rest.ends_with(".max"))
      return Column{Side::metric, rest.substr(0, rest.size() - 4), Which::max};
    return Column{Side::metric, rest, Which::last};
  }
  static const std::map<std::string, std::string, std::less<>> names = {
      {"id", "run_id"},
      {"name", "run_name"},
      {"user", "user_id"},
      {"created_at", "created"},
      {"started_at", "start_time"},
      {"finished_at", "end_time"},
      {"status", "status"},
      {"project", "project"},
      {"owner", "owner"},
      {"experiment", "experiment"},
      {"experiment_id", "experiment_id"},
      {"job_id", "job_id"},
      {"parent_id", "parent_id"}};
  const auto at = names.find(field);
  if (at == names.end()) return std::nullopt;
  return Column{Side::attribute, at->second, Which::last};
}

std::optional<AttributeType> attribute_type(std::string_view key) {
  for (const Attribute& known : kAttributes)
    if (known.name == key) return known.type;
  return std::nullopt;
}

bool compare_numbers(double a, Compare op, double b) {
  switch (op) {
    case Compare::equal:
      return a == b;
    case Compare::not_equal:
      return a != b;
    case Compare::less:
      return a < b;
    case Compare::less_equal:
      return a <= b;
    case Compare::greater:
      return a > b;
    case Compare::greater_equal:
      return a >= b;
    default:
      return false;
  }
}

bool compare_texts(std::string_view text, const Comparison& with) {
  switch (with.op) {
    case Compare::equal:
      return text == with.text;
    case Compare::not_equal:
      return text != with.text;
    case Compare::like:
      return like(text, with.text, true);
    case Compare::ilike:
      return like(text, with.text, false);
    case Compare::in:
      return std::ranges::find(with.list, text) != with.list.end();
    case Compare::not_in:
      return std::ranges::find(with.list, text) == with.list.end();
    case Compare::less:
      return text < with.text;
    case Compare::less_equal:
      return text <= with.text;
    case Compare::greater:
      return text > with.text;
    case Compare::greater_equal:
      return text >= with.text;
  }
  return false;
}

bool like(std::string_view text, std::string_view pattern, bool case_counts) {
  const auto same = [&](char a, char b) { return case_counts ? a == b : lower(a) == lower(b); };
  // Back-tracks to the last %, so it takes text times pattern at most.
  size_t t = 0, p = 0, behind_star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      behind_star = ++p;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == '_') {
      t += character(text.substr(t));
      ++p;
    } else if (p < pattern.size() && same(pattern[p], text[t])) {
      ++t;
      ++p;
    } else if (behind_star != std::string_view::npos) {
      p = behind_star;
      resume += character(text.substr(resume));
      t = resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

std::vector<std::string> metric_keys_of(const RunSearch& query) {
  std::vector<std::string> keys;
  for (const Comparison& one : query.filter)
    if (one.column.side == Side::metric) keys.push_back(one.column.key);
  for (const Order& order : query.order_by)
    if (order.column.side == Side::metric) keys.push_back(order.column.key);
  if (query.where) add_filter_keys(*query.where, keys);
  return keys;
}

Result<void> check_search(const RunSearch& query) {
  for (const Comparison& one : query.filter) {
    TRY(check_column(one.column));
    const bool of_texts = one.op == Compare::like || one.op == Compare::ilike ||
                          one.op == Compare::in || one.op == Compare::not_in;
    if (numeric(one.column) && of_texts)
      return Error::invalid(
          format("'{}' is a number: LIKE, ILIKE and IN do not apply", one.column.key),
          "use =, !=, <, <=, > or >=");
  }
  for (const Order& order : query.order_by) {
    TRY(check_column(order.column));
    if (order.column.side == Side::dataset)
      return Error::invalid("runs cannot be ordered by their datasets");
  }
  return {};
}

std::string RunReader::uri(uint32_t slot) const {
  const IndexedRun& run = view_.runs[slot];
  const auto at = view_.experiments.find(view_.words.text(run.experiment));
  return at == view_.experiments.end() ? "" : artifact_uri(at->second, run.id);
}

RunReader::Get RunReader::attribute(const std::string& key) const {
  const auto& view = view_;
  const auto word = [&view](uint32_t IndexedRun::* member) {
    return [&view, member](uint32_t slot) {
      return text_held(view.words.text(view.runs[slot].*member));
    };
  };
  if (key == "run_id") return [&view](uint32_t slot) { return text_held(view.runs[slot].id); };
  if (key == "run_name") return [&view](uint32_t slot) { return text_held(view.runs[slot].name); };
  if (key == "status")
    return [&view](uint32_t slot) {
      return text_held(kStatus[static_cast<size_t>(view.runs[slot].status)]);
    };
  if (key == "user_id") return word(&IndexedRun::user);
  if (key == "owner") return word(&IndexedRun::owner);
  if (key == "job_id") return word(&IndexedRun::job);
  if (key == "parent_id") return word(&IndexedRun::parent);
  if (key == "project") return word(&IndexedRun::project);
  if (key == "experiment_id") return word(&IndexedRun::experiment);
  if (key == "start_time")
    return [&view](uint32_t slot) { return time_held(view.runs[slot].started_at); };
  if (key == "end_time")
    return [&view](uint32_t slot) { return time_held(view.runs[slot].finished_at); };
  if (key == "created")
    return [&view](uint32_t slot) { return time_held(view.runs[slot].created_at); };
  if (key == "experiment")
    return [&view](uint32_t slot) {
      const auto at = view.experiments.find(view.words.text(view.runs[slot].experiment));
      return at == view.experiments.end() ? Held{} : text_held(at->second.name);
    };
  // artifact_uri is made when it is asked for.
  const auto made = std::make_shared<std::string>();
  return [reader = *this, made](uint32_t slot) {
    *made = reader.uri(slot);
    return text_held(*made);
  };
}

RunReader::Get RunReader::reader(const Column& column) const {
  const auto& view = view_;
  if (column.side == Side::attribute) return attribute(column.key);
  if (column.side == Side::metric) {
    const MetricColumn* values = view.column(column.key);
    if (values == nullptr) return [](uint32_t) { return Held{}; };
    const Which which = column.which;
    return [values, which](uint32_t slot) {
      if (values->state[slot] == kAbsent) return Held{};
      if (which == Which::last) return number_held(values->last[slot]);
      if ((values->state[slot] & kFinite) == 0) return Held{};
      return number_held(which == Which::min ? values->min[slot] : values->max[slot]);
    };
  }
  const uint32_t key = view.words.find(column.key);
  if (column.side == Side::param)
    return
        [&view, key](uint32_t slot) { return value_of(view.runs[slot].params, key, view.words); };
  return [&view, key](uint32_t slot) { return value_of(view.runs[slot].tags, key, view.words); };
}

Predicate predicate_of(const RunIndex::View& view, const RunSearch& query,
                       const std::optional<std::set<std::string>>& projects,
                       const std::string& job_id) {
  std::vector<Predicate> all;
  std::set<uint32_t> experiments, visible;
  for (const std::string& id : query.experiment_ids) experiments.insert(view.words.find(id));
  if (projects)
    for (const std::string& name : *projects) visible.insert(view.words.find(name));
  const bool any_project = !projects;
  const bool any_experiment = query.experiment_ids.empty();
  const View wanted = query.view;
  all.push_back([&view, experiments, visible, any_project, any_experiment, wanted](uint32_t slot) {
    const IndexedRun& run = view.runs[slot];
    return run.there &&
           (wanted == View::all || (run.deleted_at.micros != 0) == (wanted == View::deleted)) &&
           (any_experiment || experiments.contains(run.experiment)) &&
           (any_project || visible.contains(run.project));
  });
  if (!job_id.empty())
    all.push_back([&view, job = view.words.find(job_id)](uint32_t slot) {
      return view.runs[slot].job == job;
    });
  for (const Comparison& one : query.filter) all.push_back(comparison(view, one));
  if (query.where) {
    std::map<std::string, RunReader::Get> gets;
    add_gets(RunReader(view), *query.where, gets);
    all.push_back([&view, &query, gets = std::move(gets)](uint32_t slot) {
      return matches(*query.where, [&](const std::string& field) {
        return own_text(view, field, slot, gets.at(field));
      });
    });
  }
  return [all = std::move(all)](uint32_t slot) {
    return std::ranges::all_of(all, [slot](const Predicate& one) { return one(slot); });
  };
}

}  // namespace hearth::control
