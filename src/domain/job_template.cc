#include "domain/job_template.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "domain/embedded.h"
#include "domain/job_spec.h"

namespace hearth {
namespace {

constexpr std::string_view kAbout = "template.yaml", kJob = "job.yaml";

Error in_file(Error error, std::string_view name, std::string_view file) {
  error.detail = format("templates/{}/{}: {}", name, file, error.detail);
  return error;
}

AnyJson json_of(const Node* node) {
  return {node == nullptr ? "" : to_json(*node)};
}

// The value that the job file has at the path, and the bounds of a param.
Result<void> fill_from_job(FormField& field, const Node& job) {
  const Node* value = TRY(value_at(job, field.path));
  const Node* inner = value == nullptr ? nullptr : value->find("value");
  if (inner != nullptr) {
    if (field.min.text.empty()) field.min = json_of(value->find("min"));
    if (field.max.text.empty()) field.max = json_of(value->find("max"));
    value = inner;
  }
  if (field.initial.text.empty()) field.initial = json_of(value);
  return {};
}

std::vector<TemplateFolder> read_all() {
  std::map<std::string_view, std::map<std::string_view, std::string_view>> folders;
  for (const domain::EmbeddedFile& file : domain::template_files()) {
    const size_t slash = file.path.find('/');
    if (slash != std::string_view::npos)
      folders[file.path.substr(0, slash)][file.path.substr(slash + 1)] = file.bytes;
  }
  std::vector<TemplateFolder> all;
  for (const auto& [name, files] : folders) {
    // What is in the program is right: a test reads it.
    auto about = read_template(name, files.at(kAbout), files.at(kJob));
    CHECK(about.ok());
    TemplateFolder folder{.about = std::move(*about)};
    for (const auto& [file, bytes] : files)
      if (file != kAbout) folder.files.push_back({file, bytes});
    const auto spec = parse_job_yaml(folder.about.job_yaml);
    CHECK(spec.ok());
    folder.is_whole = spec->code.directory.empty() || folder.files.size() > 1;
    all.push_back(std::move(folder));
  }
  return all;
}

}  // namespace

void Describe<FormField>::fields(Fields<FormField>& f) {
  f("path", &FormField::path, "of the job file").required().example("params.lr");
  f("label", &FormField::label, "in the form").required();
  f("type", &FormField::type, "what it takes").required();
  f("default", &FormField::initial, "what stands there to begin with");
  f("min", &FormField::min, "the least; a size with its unit");
  f("max", &FormField::max, "the most");
  f("choices", &FormField::choices, "one of these");
  f("help", &FormField::help, "a few words");
}

void Describe<JobTemplate>::fields(Fields<JobTemplate>& f) {
  f("name", &JobTemplate::name, "of its folder").output_only();
  f("title", &JobTemplate::title, "for people").required();
  f("doc", &JobTemplate::doc, "what it is for").required();
  f("job_yaml", &JobTemplate::job_yaml, "a job file that is right").output_only();
  f("code_digest", &JobTemplate::code_digest, "its code, to submit it with; empty: it has none")
      .output_only();
  f("form", &JobTemplate::form, "what a form asks for").max(64);
}

const std::vector<TemplateFolder>& job_templates() {
  static const std::vector<TemplateFolder> all = read_all();
  return all;
}

Result<JobTemplate> read_template(std::string_view name, std::string_view template_yaml,
                                  std::string_view job_yaml) {
  const auto about = [&]() -> Result<JobTemplate> {
    return from_node<JobTemplate>(TRY(parse_yaml(template_yaml)), Origin::client);
  }();
  if (!about.ok()) return in_file(about.error(), name, kAbout);
  const auto job = parse_yaml(job_yaml);
  if (!job.ok()) return in_file(job.error(), name, kJob);
  if (const auto spec = parse_job_node(*job); !spec.ok()) return in_file(spec.error(), name, kJob);
  JobTemplate made = *about;
  made.name = name;
  made.job_yaml = job_yaml;
  for (FormField& field : made.form)
    if (const auto filled = fill_from_job(field, *job); !filled.ok())
      return in_file(filled.error(), name, kAbout);
  return made;
}

}  // namespace hearth
