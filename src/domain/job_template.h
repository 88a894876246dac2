// Jobs to begin with: a folder of templates/ each, with template.yaml (what a form asks for),
// job.yaml, and the code that it runs.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/describe.h"

namespace hearth {

enum class FormType { text, integer, number, size, choice, boolean, gpus, dataset };
template <>
struct Words<FormType> {
  static constexpr std::string_view name = "FormType";
  static constexpr std::array<std::string_view, 8> words{"text",   "integer", "number", "size",
                                                         "choice", "boolean", "gpus",   "dataset"};
};

// What a form asks for. default, and the bounds of a param, are those of the job file where the
// template does not say others.
struct FormField {
  std::string path, label, help;
  FormType type = FormType::text;
  AnyJson initial, min, max;
  std::vector<AnyJson> choices;
  bool operator==(const FormField&) const = default;
};
template <>
struct Describe<FormField> {
  static constexpr std::string_view name = "FormField", doc = "What a form asks for.";
  static void fields(Fields<FormField>& f);
};

struct JobTemplate {
  std::string name, title, doc, job_yaml, code_digest;
  std::vector<FormField> form;
  bool operator==(const JobTemplate&) const = default;
};
template <>
struct Describe<JobTemplate> {
  static constexpr std::string_view name = "JobTemplate", doc = "A job to begin with.";
  static void fields(Fields<JobTemplate>& f);
};

// A file that `job new` writes, and that is part of the code when it is submitted.
struct TemplateFile {
  std::string_view name, bytes;  // "train.py"
};
struct TemplateFolder {
  JobTemplate about;                // without code_digest
  std::vector<TemplateFile> files;  // job.yaml and the code
  bool is_whole = false;            // it can run as it is: the code that it names is here
};
// Those that are in the program, by name. The bytes live as long as it.
const std::vector<TemplateFolder>& job_templates();

// A template out of the texts of its two files. Errors name the file and the place.
Result<JobTemplate> read_template(std::string_view name, std::string_view template_yaml,
                                  std::string_view job_yaml);

}  // namespace hearth
