// JSON Schema (2020-12) and documentation from field lists.
#pragma once

#include <functional>
#include <string>

#include "domain/describe.h"

namespace hearth {

// input: an API body that a client sends. output: what the server answers; names the fields that
// are always there as required. file: the job file, where numbers and texts may be written as each
// other.
enum class SchemaFor { input, output, file };

// The schema of one type; nested objects and enumerations are given as {"$ref": prefix + name} and
// handed to `need` so that the caller emits each once.
std::string json_schema(const Type& type, SchemaFor use, const std::string& ref_prefix,
                        const std::function<void(const Type&)>& need);
// A whole document with $defs: what `hearth job schema` prints and editors use.
std::string job_file_schema();
// The same of the topology file (domain/topology.h).
std::string topology_file_schema();
// A Markdown table of the fields: name, type with bounds, default, meaning. Types that have a table
// of their own are linked as #name.
std::string markdown_table(const Type& type);

}  // namespace hearth
