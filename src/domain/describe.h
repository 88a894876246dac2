// One field list per struct. From it come decoding with precise errors, JSON, JSON Schema, the
// documentation and the OpenAPI document; nothing about a struct's fields is written twice.
//
//   struct Resources {
//     double cpus = 1;
//     Size memory{2LL << 30};
//   };
//   template <>
//   struct Describe<Resources> {
//     static constexpr std::string_view name = "Resources";
//     static constexpr std::string_view doc = "What one process needs.";
//     static void fields(Fields<Resources>& f) {
//       f("cpus", &Resources::cpus, "CPU cores; a weight").min(0.01).max(4096);
//       f("memory", &Resources::memory, "memory; ends as `oom` above it").min(1 << 20);
//     }
//   };
//
// Behind it stands a Type per C++ type: a table of accessors, so that the walkers (codec.h,
// schema.h) are plain functions compiled once, not templates.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace hearth {

// A number of bytes written with a unit ("4GiB"); plain int64 fields end in _bytes instead.
struct Size {
  int64_t bytes = 0;
  auto operator<=>(const Size&) const = default;
};
// A span of time written with a unit ("1h").
struct Span {
  Duration duration;
  auto operator<=>(const Span&) const = default;
};
// Any JSON value, kept as its compact text ("" = absent).
struct AnyJson {
  std::string text;
  bool operator==(const AnyJson&) const = default;
};

enum class Kind {
  boolean,
  integer,      // int, int64_t
  real,         // double
  text,         // std::string
  enumeration,  // enum class with a Words<E>
  time,         // Time; RFC 3339 in JSON
  size,         // Size
  span,         // Span
  list,         // std::vector<T>
  map,          // std::map<std::string, T>
  object,       // a described struct
  any,          // AnyJson
};

struct Field;

struct Type {
  Kind kind = Kind::any;
  std::string_view name;  // of an object or enumeration
  std::string_view doc;
  const Type* item = nullptr;           // of list, map
  std::vector<std::string_view> words;  // of an enumeration, by its value from 0 on
  std::vector<Field> fields;            // of an object
  // A scalar (or a list) in the place of the object stands for this field of it: `code: .` for
  // `code: {directory: .}`. Indices into fields; -1: not allowed.
  int scalar_field = -1;
  int list_field = -1;
  // More than one field of this object may not be given (environment: prefix or venv or image).
  bool one_of = false;

  // Accessors; only those of the kind are set. `object` is the address of the C++ value.
  int64_t (*get_integer)(const void* object) = nullptr;  // integer, enumeration, boolean
  void (*set_integer)(void* object, int64_t value) = nullptr;
  int64_t lowest = 0, highest = 0;  // of an integer: what the C++ type holds
  // A list's or map's content goes away; decoding replaces what the default held.
  void (*clear)(void* object) = nullptr;
  size_t (*list_size)(const void* object) = nullptr;
  const void* (*list_at)(const void* object, size_t i) = nullptr;
  void* (*list_append)(void* object) = nullptr;
  void (*map_each)(const void* object, void* context,
                   void (*each)(void* context, const std::string& key,
                                const void* value)) = nullptr;
  void* (*map_insert)(void* object, const std::string& key) = nullptr;
  bool (*equal)(const void* a, const void* b) = nullptr;
  const void* blank = nullptr;  // a default value of the type
};

struct Field {
  std::string_view name;
  std::string_view doc;
  const Type* type = nullptr;
  size_t offset = 0;
  bool optional_value = false;  // std::optional<T>: absent is not the same as the default
  bool is_required = false;
  bool is_secret = false;  // never written to JSON
  bool is_input_only = false;
  bool is_output_only = false;        // refused in what clients send
  std::optional<double> least, most;  // of a number, a size in bytes, a span in seconds; items of
                                      // a list or map; length of a text
  std::string_view pattern;           // of a text, or of a map's keys; RE2 syntax, whole text
  std::string_view allowed;           // the pattern in words, for errors
  std::string_view example;
  void* (*ensure)(void* object) = nullptr;            // optional: makes it present, its address
  const void* (*peek)(const void* object) = nullptr;  // optional: its address, or null

  const void* in(const void* object) const {
    const void* at = static_cast<const char*>(object) + offset;
    return optional_value ? peek(at) : at;
  }
  void* in(void* object) const {
    void* at = static_cast<char*>(object) + offset;
    return optional_value ? ensure(at) : at;
  }
};

// Specialise for a described struct / an enum's words.
template <typename T>
struct Describe;
template <typename E>
struct Words;  // static constexpr std::array<std::string_view, N> words, std::string_view name

template <typename T>
const Type& type_of();

template <typename T>
class Fields {
 public:
  explicit Fields(Type& type) : type_(type) {}

  class Setter {
   public:
    explicit Setter(Field& field) : field_(field) {}
    Setter& min(double least) { return field_.least = least, *this; }
    Setter& max(double most) { return field_.most = most, *this; }
    Setter& required() { return field_.is_required = true, *this; }
    Setter& secret() { return field_.is_secret = true, *this; }
    Setter& output_only() { return field_.is_output_only = true, *this; }
    Setter& input_only() { return field_.is_input_only = true, *this; }
    Setter& matches(std::string_view pattern, std::string_view allowed) {
      return field_.pattern = pattern, field_.allowed = allowed, *this;
    }
    Setter& example(std::string_view text) { return field_.example = text, *this; }

   private:
    Field& field_;
  };

  template <typename M>
  Setter operator()(std::string_view name, M T::* member, std::string_view doc) {
    Field& field = type_.fields.emplace_back();
    field.name = name;
    field.doc = doc;
    field.offset = offset_of(member);
    fill<M>(field);
    return Setter(field);
  }
  // The field named last may be given as a bare scalar / as a list in place of the object.
  void scalar_stands_for_last() { type_.scalar_field = static_cast<int>(type_.fields.size()) - 1; }
  void list_stands_for_last() { type_.list_field = static_cast<int>(type_.fields.size()) - 1; }
  void one_of() { type_.one_of = true; }

 private:
  template <typename M>
  static size_t offset_of(M T::* member);
  template <typename M>
  static void fill(Field& field);
  Type& type_;
};

namespace describe_detail {

// A default value that lives as long as the program.
template <typename T>
const T& blank() {
  static const T value{};
  return value;
}

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
Type make_integer(Kind kind) {
  Type type;
  type.kind = kind;
  type.get_integer = [](const void* p) { return static_cast<int64_t>(*static_cast<const T*>(p)); };
  type.set_integer = [](void* p, int64_t v) { *static_cast<T*>(p) = static_cast<T>(v); };
  if constexpr (std::is_integral_v<T>) {
    type.lowest = std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min()) : 0;
    type.highest = sizeof(T) >= sizeof(int64_t)
                       ? std::numeric_limits<int64_t>::max()
                       : static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  return type;
}

template <typename T>
Type make_list() {
  Type type;
  type.kind = Kind::list;
  type.item = &type_of<typename T::value_type>();
  type.list_size = [](const void* p) { return static_cast<const T*>(p)->size(); };
  type.list_at = [](const void* p, size_t i) -> const void* {
    return &(*static_cast<const T*>(p))[i];
  };
  type.list_append = [](void* p) -> void* { return &static_cast<T*>(p)->emplace_back(); };
  type.clear = [](void* p) { static_cast<T*>(p)->clear(); };
  return type;
}

template <typename T>
Type make_map() {
  Type type;
  type.kind = Kind::map;
  type.item = &type_of<typename T::mapped_type>();
  type.map_each = [](const void* p, void* context,
                     void (*each)(void*, const std::string&, const void*)) {
    for (const auto& [key, value] : *static_cast<const T*>(p)) each(context, key, &value);
  };
  type.map_insert = [](void* p, const std::string& key) -> void* {
    return &(*static_cast<T*>(p))[key];
  };
  type.clear = [](void* p) { static_cast<T*>(p)->clear(); };
  return type;
}

template <typename T>
Type make() {
  Type type;
  if constexpr (std::is_same_v<T, bool>)
    type = make_integer<T>(Kind::boolean);
  else if constexpr (std::is_integral_v<T>)
    type = make_integer<T>(Kind::integer);
  else if constexpr (std::is_same_v<T, double>)
    type.kind = Kind::real;
  else if constexpr (std::is_same_v<T, std::string>)
    type.kind = Kind::text;
  else if constexpr (std::is_same_v<T, Time>)
    type.kind = Kind::time;
  else if constexpr (std::is_same_v<T, Size>)
    type.kind = Kind::size;
  else if constexpr (std::is_same_v<T, Span>)
    type.kind = Kind::span;
  else if constexpr (std::is_same_v<T, AnyJson>)
    type.kind = Kind::any;
  else if constexpr (std::is_enum_v<T>) {
    type = make_integer<T>(Kind::enumeration);
    type.name = Words<T>::name;
    type.words.assign(Words<T>::words.begin(), Words<T>::words.end());
  } else if constexpr (IsVector<T>::value)
    type = make_list<T>();
  else if constexpr (IsMap<T>::value)
    type = make_map<T>();
  else {
    type.kind = Kind::object;
    type.name = Describe<T>::name;
    type.doc = Describe<T>::doc;
    Fields<T> fields(type);
    Describe<T>::fields(fields);
  }
  type.blank = &blank<T>();
  type.equal = [](const void* a, const void* b) {
    return *static_cast<const T*>(a) == *static_cast<const T*>(b);
  };
  return type;
}

}  // namespace describe_detail

template <typename T>
const Type& type_of() {
  static const Type type = describe_detail::make<T>();
  return type;
}

template <typename T>
template <typename M>
size_t Fields<T>::offset_of(M T::* member) {
  const T& sample = describe_detail::blank<T>();
  return static_cast<size_t>(reinterpret_cast<const char*>(&(sample.*member)) -
                             reinterpret_cast<const char*>(&sample));
}

template <typename T>
template <typename M>
void Fields<T>::fill(Field& field) {
  if constexpr (describe_detail::IsOptional<M>::value) {
    field.type = &type_of<typename M::value_type>();
    field.optional_value = true;
    field.ensure = [](void* p) -> void* {
      auto& value = *static_cast<M*>(p);
      if (!value) value.emplace();
      return &*value;
    };
    field.peek = [](const void* p) -> const void* {
      const auto& value = *static_cast<const M*>(p);
      return value ? &*value : nullptr;
    };
  } else {
    field.type = &type_of<M>();
  }
}

// The word of an enum's value, and back.
template <typename E>
std::string_view word(E value) {
  return Words<E>::words[static_cast<size_t>(value)];
}
template <typename E>
std::optional<E> from_word(std::string_view text) {
  for (size_t i = 0; i < Words<E>::words.size(); ++i)
    if (Words<E>::words[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace hearth
