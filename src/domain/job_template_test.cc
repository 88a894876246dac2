#include "domain/job_template.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "domain/job_spec.h"

namespace hearth {
namespace {

constexpr std::string_view kAbout = "title: T\ndoc: D\nform:\n  - ";
constexpr std::string_view kJob =
    "hearth: 1\nname: t\ncommand: [echo]\nparams: {lr: {value: 0.1, live: true, min: 0.01, max: "
    "1}, "
    "n: 3}\nresources: {memory: 2GiB}\n";

FormField field(std::string_view text) {
  const auto made = read_template("t", std::string(kAbout) + std::string(text) + "\n", kJob);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return made.ok() ? made->form.at(0) : FormField{};
}

TEST(JobTemplate, WhatTheJobFileSaysIsNotSaidAgain) {
  FormField lr = field("{path: params.lr, label: Rate, type: number}");
  EXPECT_EQ(lr.initial.text, "0.1");
  EXPECT_EQ(lr.min.text, "0.01");
  EXPECT_EQ(lr.max.text, "1");
  lr = field("{path: params.lr, label: Rate, type: number, max: 0.5, default: 0.2}");
  EXPECT_EQ(lr.initial.text, "0.2");
  EXPECT_EQ(lr.min.text, "0.01");
  EXPECT_EQ(lr.max.text, "0.5");
  EXPECT_EQ(field("{path: params.n, label: N, type: integer}").initial.text, "3");
  EXPECT_EQ(field("{path: resources.memory, label: M, type: size}").initial.text, R"("2GiB")");
  EXPECT_EQ(field("{path: time_limit, label: L, type: text}").initial.text, "");
}

TEST(JobTemplate, MistakesNameFileAndPlace) {
  const auto words = [](std::string_view about, std::string_view job) {
    const auto made = read_template("t", about, job);
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : made.error().text();
  };
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(words("title: T\ndoc: D\nfrom: []\n", kJob), "templates/t/template.yaml");
  has(words("title: T\ndoc: D\n", "hearth: 1\nnam: x\n"), "templates/t/job.yaml");
  const std::string form(kAbout);
  has(words(form + "{path: resources.gpu, label: G, type: gpus}\n", kJob), "gpus");
  has(words(form + "{path: params.n, label: N, type: whole}\n", kJob), "integer");
}

class EveryTemplate : public ::testing::TestWithParam<size_t> {
 protected:
  const TemplateFolder& folder() { return job_templates().at(GetParam()); }
  // The job file with this value in the form's field.
  void expect_right(const FormField& field, const AnyJson& value) {
    SCOPED_TRACE(format("{} = {}", field.path, value.text));
    auto job = parse_yaml(folder().about.job_yaml);
    ASSERT_TRUE(job.ok());
    const auto set = apply_set(*job, format("{}={}", field.path, value.text));
    ASSERT_TRUE(set.ok()) << set.error().text();
    const auto spec = parse_job_node(*job);
    EXPECT_TRUE(spec.ok()) << spec.error().text();
  }
};

TEST_P(EveryTemplate, CanRunWithAllThatItsFormAllows) {
  SCOPED_TRACE(folder().about.name);
  const auto spec = parse_job_yaml(folder().about.job_yaml);
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  EXPECT_TRUE(check_runnable(*spec).ok());
  for (const FormField& field : folder().about.form) {
    for (const AnyJson* value : {&field.initial, &field.min, &field.max})
      if (!value->text.empty()) expect_right(field, *value);
    for (const AnyJson& choice : field.choices) expect_right(field, choice);
    EXPECT_EQ(field.type == FormType::choice, !field.choices.empty()) << field.path;
    const bool bounded = field.type == FormType::integer || field.type == FormType::number ||
                         field.type == FormType::size || field.type == FormType::gpus;
    EXPECT_EQ(bounded, !field.min.text.empty() && !field.max.text.empty()) << field.path;
    EXPECT_FALSE(field.help.empty()) << field.path;
  }
  if (folder().is_whole) EXPECT_FALSE(folder().about.form.empty());
}

INSTANTIATE_TEST_SUITE_P(OfTheProgram, EveryTemplate,
                         ::testing::Range(size_t{0}, job_templates().size()),
                         [](const auto& which) {
                           std::string name = job_templates().at(which.param).about.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(JobTemplate, ThoseWithCodeHaveIt) {
  std::vector<std::string> whole;
  for (const TemplateFolder& folder : job_templates()) {
    if (folder.is_whole) whole.push_back(folder.about.name);
    EXPECT_EQ(folder.about.code_digest, "") << "a server says it";
  }
  EXPECT_EQ(whole, (std::vector<std::string>{"command", "image-classification", "tabular"}));
}

}  // namespace
}  // namespace hearth
