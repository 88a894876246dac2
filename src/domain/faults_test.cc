// Wrong job files: for each field each way to be wrong, made from the field lists; and those
// written by hand in testdata/job_faults.txt.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "domain/job_spec.h"
#include "domain/scalar.h"

namespace hearth {
namespace {

// A place in a job file: the YAML lines that lead to it, and its path in errors. `%` stands for the
// field under test.
struct Place {
  const Type* type;
  std::string yaml;
  std::string path;  // with a '.' at its end, or ""
};

constexpr std::string_view kHead = "hearth: 1\nname: x\n";

std::vector<Place> places() {
  const std::string run = std::string(kHead) + "command: run\n";
  const std::string roles = std::string(kHead) + "roles:\n  w:\n    command: run\n";
  return {
      {&type_of<JobSpec>(), "%\n", ""},
      {&type_of<Environment>(), run + "environment:\n  %\n", "environment."},
      {&type_of<CodeSource>(), run + "code:\n  %\n", "code."},
      {&type_of<Command>(), std::string(kHead) + "command:\n  %\n", "command."},
      {&type_of<Param>(), run + "params:\n  p:\n    %\n", "params.p."},
      {&type_of<Resources>(), run + "resources:\n  %\n", "resources."},
      {&type_of<Role>(), std::string(kHead) + "roles:\n  w:\n    %\n", "roles.w."},
      {&type_of<Resources>(), roles + "    resources:\n      %\n", "roles.w.resources."},
      {&type_of<DatasetUse>(), run + "datasets:\n  - %\n", "datasets[0]."},
      {&type_of<Outputs>(), run + "outputs:\n  %\n", "outputs."},
      {&type_of<CheckpointOutput>(), run + "outputs:\n  checkpoints:\n    %\n",
       "outputs.checkpoints."},
      {&type_of<ModelOutput>(), run + "outputs:\n  models:\n    - %\n", "outputs.models[0]."},
      {&type_of<MetricSources>(), run + "metrics:\n  %\n", "metrics."},
      {&type_of<Retries>(), run + "retries:\n  %\n", "retries."},
      {&type_of<Notify>(), run + "notify:\n  - %\n", "notify[0]."},
  };
}

std::string with(const Place& place, const std::string& field_text) {
  std::string yaml = place.yaml;
  return yaml.replace(yaml.find('%'), 1, field_text);
}

// The line the field stands on in `with(place, ...)`.
int line_of_field(const Place& place) {
  const auto at = place.yaml.find('%');
  return 1 + static_cast<int>(std::count(
                 place.yaml.begin(), place.yaml.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

void expect_fault(const std::string& yaml, const std::string& path, int line,
                  const std::string& allowed_part = "") {
  const auto spec = parse_job_yaml(yaml);
  ASSERT_FALSE(spec.ok()) << yaml;
  EXPECT_EQ(spec.error().code, Code::invalid);
  ASSERT_FALSE(spec.error().errors.empty()) << yaml;
  bool found = false;
  for (const FieldError& error : spec.error().errors) {
    EXPECT_FALSE(error.path.empty()) << yaml;
    EXPECT_GT(error.line, 0) << yaml << error.path;
    EXPECT_FALSE(error.found.empty()) << yaml << error.path;
    EXPECT_LE(error.found.size(), 200U) << yaml;
    EXPECT_FALSE(error.allowed.empty()) << yaml << error.path;
    EXPECT_FALSE(error.mend.empty()) << yaml << error.path;
    found |= error.path == path && error.line == line &&
             error.allowed.find(allowed_part) != std::string::npos;
  }
  EXPECT_TRUE(found) << yaml << "\nmust name " << path << " on line " << line << " with '"
                     << allowed_part << "', but says\n"
                     << spec.error().text();
}

// Values that no field of this type takes.
std::vector<std::string> wrong_values(const Type& type) {
  switch (type.kind) {
    case Kind::boolean:
      return {"yes", "1", "'true'", "[true]", "{a: true}", "null", ""};
    case Kind::integer:
      return {"many", "1.5", "true", "[1]", "{a: 1}", "null", "1e400", "99999999999999999999"};
    case Kind::real:
      return {"many", "true", "[1]", "{a: 1}", "null", "1e999", "0x"};
    case Kind::text:
      return {"[a]", "{a: b}", "null", "~", "\"a\\0b\""};
    case Kind::enumeration:
      return {"nonesuch", "1", "[a]", "{a: b}", "null"};
    case Kind::time:
      return {"yesterday", "12", "[a]", "null"};
    case Kind::size:
      return {"4", "lots", "4 gigs", "-4GiB", "[4GiB]", "{a: 4GiB}", "null", "1e30PiB"};
    case Kind::span:
      return {"4", "long", "4 weeks", "-4s", "[4s]", "{a: 4s}", "null"};
    case Kind::list:
      return {"word", "3", "{a: b}", "null"};
    case Kind::map:
      return {"word", "3", "[a]", "null"};
    case Kind::object: {
      std::vector<std::string> values{"null", "{nonesuch: 1}"};
      if (type.scalar_field < 0) values.insert(values.end(), {"word", "3"});
      if (type.list_field < 0) values.emplace_back("[a]");
      return values;
    }
    case Kind::any:
      return {"null"};
  }
  return {};
}

std::string written(const Field& field, double value) {
  if (field.type->kind == Kind::size) return format("{:.0f}B", value);
  if (field.type->kind == Kind::span) return format("{:.6f}s", value);
  if (field.type->kind == Kind::integer) return format("{:.0f}", value);
  return format("{}", value);
}

std::vector<std::string> out_of_bounds(const Field& field) {
  std::vector<std::string> values;
  const auto repeated = [](std::string_view open, std::string_view item, double n,
                           std::string_view close) {
    std::string text(open);
    for (int i = 0; i < n; ++i) {
      std::string one(item);
      if (const auto at = one.find('%'); at != std::string::npos)
        one.replace(at, 1, format("{}", i));
      text += one;
    }
    return text += close;
  };
  switch (field.type->kind) {
    case Kind::integer:
      if (field.least) values.push_back(written(field, *field.least - 1));
      if (field.most) values.push_back(written(field, *field.most + 1));
      break;
    case Kind::real:
    case Kind::size:
    case Kind::span:
      if (field.least && *field.least > 0) values.push_back(written(field, *field.least / 2));
      if (field.most) values.push_back(written(field, *field.most * 2));
      if (field.type->kind == Kind::real) values.insert(values.end(), {".nan", ".inf", "-.inf"});
      break;
    case Kind::text:
      if (field.least || !field.pattern.empty()) values.emplace_back("''");
      if (field.most) values.push_back(repeated("", "a", *field.most + 1, ""));
      if (!field.pattern.empty()) values.emplace_back("'!not this!'");
      break;
    case Kind::list:
      if (field.most) values.push_back(repeated("[", "a%,", *field.most + 1, "]"));
      if (field.least) values.emplace_back("[]");
      break;
    case Kind::map:
      if (field.most) values.push_back(repeated("{", "a%: b,", *field.most + 1, "}"));
      break;
    default:
      break;
  }
  if (!field.least && !field.most && field.type->kind == Kind::real) values.clear();
  return values;
}

// What stands around a field's own line so that the rest of the file is right.
std::string wrong_line(const Field& field, const std::string& value) {
  return format("{}: {}", field.name, value);
}

TEST(Faults, EveryFieldOfEveryWrongType) {
  int cases = 0;
  for (const Place& place : places()) {
    for (const Field& field : place.type->fields) {
      for (const std::string& value : wrong_values(*field.type)) {
        std::string path = format("{}{}", place.path, field.name);
        if (value == "{nonesuch: 1}") path += ".nonesuch";
        if (field.type->kind == Kind::any && value == "null") path = "params.p";
        expect_fault(with(place, wrong_line(field, value)), path, line_of_field(place));
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 200);
}

TEST(Faults, EveryFieldOutOfItsBounds) {
  int cases = 0;
  for (const Place& place : places()) {
    for (const Field& field : place.type->fields) {
      for (const std::string& value : out_of_bounds(field)) {
        expect_fault(with(place, wrong_line(field, value)), format("{}{}", place.path, field.name),
                     line_of_field(place));
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 80);
}

TEST(Faults, EveryFieldMisspelt) {
  for (const Place& place : places()) {
    for (const Field& field : place.type->fields) {
      const std::string name(field.name);
      std::set<std::string> spellings{name + "x", name.substr(1), name + "_"};
      std::string swapped = name;
      if (name.size() > 3) {
        std::swap(swapped[1], swapped[2]);
        spellings.insert(swapped);
      }
      for (const Field& other : place.type->fields) spellings.erase(std::string(other.name));
      for (const std::string& spelling : spellings) {
        const std::string yaml = with(place, format("{}: 1", spelling));
        expect_fault(yaml, place.path + spelling, line_of_field(place), name);
        if (name.size() < 4) continue;
        const auto spec = parse_job_yaml(yaml);
        for (const FieldError& error : spec.error().errors)
          if (error.path == place.path + spelling)
            EXPECT_TRUE(error.mend.starts_with("did you mean")) << spelling << ": " << error.mend;
      }
    }
  }
}

TEST(Faults, EveryFieldTwice) {
  for (const Place& place : places()) {
    const auto at = place.yaml.find('%');
    const auto line_start = place.yaml.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::string indent(at - line_start, ' ');
    for (const Field& field : place.type->fields) {
      const std::string line = wrong_line(field, "1");
      expect_fault(with(place, line + "\n" + indent + line), format("{}{}", place.path, field.name),
                   line_of_field(place) + 1, "each field once");
    }
  }
}

TEST(Faults, EveryRequiredFieldMissing) {
  int cases = 0;
  for (const Place& place : places()) {
    for (const Field& field : place.type->fields) {
      if (!field.is_required) continue;
      // The first field that is not required keeps the map from being empty.
      const auto other = std::find_if(place.type->fields.begin(), place.type->fields.end(),
                                      [&](const Field& f) { return f.name != field.name; });
      ASSERT_NE(other, place.type->fields.end());
      expect_fault(with(place, wrong_line(*other, "1")), format("{}{}", place.path, field.name),
                   line_of_field(place));
      ++cases;
    }
  }
  EXPECT_GE(cases, 9);
}

struct HandCase {
  std::string title, yaml;
  std::vector<std::string> expected;
  int line = 0;
};

// A new field needs no change of the cases that list them all: <JobSpec> and <Resources> stand for
// the names of these structs' fields.
std::string with_field_names(std::string line) {
  for (const auto& [token, type] :
       {std::pair<std::string, const Type*>("<JobSpec>", &type_of<JobSpec>()),
        {"<Resources>", &type_of<Resources>()}}) {
    std::vector<std::string> names;
    for (const auto& field : type->fields) names.emplace_back(field.name);
    if (const size_t at = line.find(token); at != std::string::npos)
      line.replace(at, token.size(), format("{}", join(names, ", ")));
  }
  return line;
}

// "=== title", the file, "---- expect", then `path | line | words` per error; all words are looked
// for in the error, and no error may be left over.
std::vector<HandCase> hand_cases() {
  std::ifstream in(HEARTH_TESTDATA "/job_faults.txt");
  EXPECT_TRUE(in);
  std::vector<HandCase> cases;
  bool expecting = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("=== ")) {
      cases.push_back({.title = line.substr(4), .line = number});
      expecting = false;
    } else if (cases.empty()) {
      continue;
    } else if (line == "---- expect") {
      expecting = true;
    } else if (expecting) {
      if (!line.empty()) cases.back().expected.push_back(with_field_names(line));
    } else {
      cases.back().yaml += line + "\n";
    }
  }
  return cases;
}

TEST(Faults, WrittenByHand) {
  const std::vector<HandCase> cases = hand_cases();
  EXPECT_GE(cases.size(), 60U);
  for (const HandCase& c : cases) {
    const auto spec = parse_job_yaml(c.yaml);
    std::string told;
    std::vector<std::string> lines;
    if (!spec.ok())
      for (const FieldError& e : spec.error().errors)
        lines.push_back(
            format("{} | {} | {} / {} / {}", e.path, e.line, e.found, e.allowed, e.mend));
    EXPECT_EQ(lines.size(), c.expected.size())
        << "job_faults.txt:" << c.line << " " << c.title << "\n"
        << format("{}", join(lines, "\n"));
    for (const std::string& expected : c.expected)
      EXPECT_NE(std::find(lines.begin(), lines.end(), expected), lines.end())
          << "job_faults.txt:" << c.line << " " << c.title << "\nexpected " << expected
          << "\nfound\n"
          << format("{}", join(lines, "\n"));
  }
}

}  // namespace
}  // namespace hearth
