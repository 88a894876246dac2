// The order of runs and places in it.
#include <bit>
#include <charconv>

#include "base/bytes.h"
#include "base/format.h"
#include "control/tracking/cursor_field.h"
#include "control/tracking/run_match.h"

namespace hearth::control {
namespace {

std::string order_name(const RunSearch& query) {
  std::string name;
  for (const Order& order : query.order_by)
    name += format("{}{}{}{}\n", static_cast<int>(order.column.side),
                   static_cast<int>(order.column.which), order.descending ? '-' : '+',
                   order.column.key);
  return sha256(name).substr(7, 8);
}

Error foreign() {
  return Error::invalid("the cursor is not one of this search",
                        "start the search again without a cursor");
}

template <typename T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

RunOrder::RunOrder(const RunIndex::View& view, const RunSearch& query)
    : view_(view), name_(order_name(query)) {
  const RunReader reader(view);
  for (const Order& order : query.order_by) {
    get_.push_back(reader.reader(order.column));
    descending_.push_back(order.descending);
  }
  if (query.order_by.empty()) return;
  const Column& first = query.order_by.front().column;
  by_number_ = first.side == Side::metric || (first.side == Side::attribute &&
                                              attribute_type(first.key) == AttributeType::number);
}

void RunOrder::hold(const std::vector<uint32_t>& slots) {
  if (!by_number_) return;
  numbers_.resize(view_.runs.size());
  for (const uint32_t slot : slots) {
    const Held held = get_.front()(slot);
    numbers_[slot] = {held.number, held.kind};
  }
}

int RunOrder::compare(const Held& a, const Held& b, bool descending) {
  if (a.kind != b.kind) return three_way(a.kind, b.kind);
  if (a.kind != Held::Kind::value) return 0;
  const int order = a.is_number ? three_way(a.number, b.number) : three_way(a.text, b.text);
  return descending ? -order : order;
}

int RunOrder::tail(uint32_t a, int64_t start, std::string_view id) const {
  const IndexedRun& run = view_.runs[a];
  if (const int order = three_way(start, run.started_at.micros); order != 0) return order;
  return three_way(std::string_view(run.id), id);
}

int RunOrder::compare(uint32_t a, uint32_t b) const {
  if (!numbers_.empty()) {
    const Number &x = numbers_[a], &y = numbers_[b];
    if (x.kind != y.kind) return three_way(x.kind, y.kind);
    const int order = x.kind == Held::Kind::value ? three_way(x.number, y.number) : 0;
    if (order != 0) return descending_.front() ? -order : order;
  }
  for (size_t i = numbers_.empty() ? 0 : 1; i < get_.size(); ++i) {
    const Held left = get_[i](a);
    // A text that is made when asked for would be lost by the second call.
    const std::string kept(left.text);
    const Held right = get_[i](b);
    const Held safe{left.kind, left.is_number, left.number, kept};
    if (const int order = compare(safe, right, descending_[i]); order != 0) return order;
  }
  return tail(a, view_.runs[b].started_at.micros, view_.runs[b].id);
}

std::string RunOrder::cursor(uint32_t slot) const {
  std::string text = name_ + ":";
  for (const auto& get : get_) {
    const Held held = get(slot);
    text += format("{}:{}:{}:{}:{}", static_cast<int>(held.kind), held.is_number ? 1 : 0,
                   std::bit_cast<uint64_t>(held.number), held.text.size(), held.text);
  }
  text += format("{}:{}", view_.runs[slot].started_at.micros, view_.runs[slot].id);
  return to_base64url(as_bytes(text));
}

Result<void> RunOrder::set_place(const std::string& cursor) {
  const auto bytes = from_base64(cursor);
  if (!bytes.ok()) return foreign();
  std::string_view text = as_text(*bytes);
  if (!text.starts_with(name_ + ":")) return foreign();
  text.remove_prefix(name_.size() + 1);
  place_.clear();
  for (size_t i = 0; i < get_.size(); ++i) {
    int kind = 0, is_number = 0;
    uint64_t number = 0;
    size_t length = 0;
    if (!take(text, kind) || !take(text, is_number) || !take(text, number) || !take(text, length) ||
        length > text.size() || kind < 0 || kind > 2)
      return foreign();
    Key key;
    key.text = text.substr(0, length);
    key.held = {static_cast<Held::Kind>(kind), is_number != 0, std::bit_cast<double>(number), {}};
    place_.push_back(std::move(key));
    text.remove_prefix(length);
  }
  if (!take(text, place_start_)) return foreign();
  place_id_ = text;
  return {};
}

bool RunOrder::behind_place(uint32_t slot) const {
  for (size_t i = 0; i < place_.size(); ++i) {
    Held place = place_[i].held;
    place.text = place_[i].text;
    if (const int order = compare(get_[i](slot), place, descending_[i]); order != 0)
      return order > 0;
  }
  return tail(slot, place_start_, place_id_) > 0;
}

}  // namespace hearth::control
