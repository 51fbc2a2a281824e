// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/models.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tandem/core/check.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"

namespace tandem::cli {
namespace {

/// `T` drives a module on the first of the devices.
template <template <class> class T, class M>
std::unique_ptr<training::Task> task(M module, const ModelSetup& setup) {
  module.to(setup.parallel.devices.front());
  return std::make_unique<T<M>>(std::move(module), setup.parallel, setup.loss_place);
}

std::unique_ptr<training::Task> make_cnn_small(const ModelSetup& setup) {
  const Shape& shape = setup.form.sample;
  return task<training::Classifier>(nn::models::CnnSmall({.channels = shape[0],
                                                          .size = {shape[1], shape[2]},
                                                          .classes = setup.form.classes,
                                                          .dtype = setup.dtype}),
                                    setup);
}

std::unique_ptr<training::Task> make_cnn(const ModelSetup& setup) {
  return task<training::Classifier>(
      nn::models::Cnn(
          {.channels = setup.form.sample[0], .classes = setup.form.classes, .dtype = setup.dtype}),
      setup);
}

std::unique_ptr<training::Task> make_mlp(const ModelSetup& setup) {
  return task<training::Classifier>(
      nn::models::Mlp({.sizes = {numel(setup.form.sample), 1024, 1024, setup.form.classes},
                       .dtype = setup.dtype}),
      setup);
}

std::unique_ptr<training::Task> make_resnet18(const ModelSetup& setup) {
  // The stem is for small images, as those of all data sets are.
  return task<training::Classifier>(nn::models::resnet18({.channels = setup.form.sample[0],
                                                          .classes = setup.form.classes,
                                                          .stem = nn::models::ResNetStem::cifar,
                                                          .recompute = setup.choice.recompute,
                                                          .dtype = setup.dtype}),
                                    setup);
}

std::unique_ptr<training::Task> make_gpt(const ModelSetup& setup) {
  nn::models::GptOptions options = gpt_options(model_sizes(setup.choice, setup.form));
  options.dropout = setup.choice.gpt.dropout;
  options.dtype = setup.dtype;
  options.recompute = setup.choice.recompute;
  return task<training::LanguageModel>(nn::models::Gpt(options), setup);
}

/// It reads the characters of a text as the first of its tokens.
constexpr Model gpt2(const char* name) {
  return {.name = name,
          .reads_text = true,
          .is_gpt2 = true,
          .has_blocks = true,
          .adam_eps = 1e-6,
          .make = make_gpt};
}

const std::array kModels{
    Model{.name = "cnn-small", .make = make_cnn_small},
    Model{.name = "cnn", .has_batch_norm = true, .colour = true, .make = make_cnn},
    Model{.name = "mlp", .make = make_mlp},
    Model{.name = "resnet18",
          .has_batch_norm = true,
          .has_blocks = true,
          .colour = true,
          .make = make_resnet18},
    Model{
        .name = "gpt", .reads_text = true, .has_blocks = true, .adam_eps = 1e-6, .make = make_gpt},
    gpt2("gpt2"),
    gpt2("gpt2-medium"),
    gpt2("gpt2-large"),
    gpt2("gpt2-xl"),
};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Model& model : kModels)
    names.emplace_back(model.name);
  return names;
}

std::string models_that(const std::function<bool(const Model&)>& holds) {
  std::vector<std::string> names;
  for (const Model& model : kModels)
    if (holds(model)) names.emplace_back(model.name);
  return fmt::format("{}", fmt::join(names, " or "));
}

const Model& model_of(const std::string& name) {
  const auto at = std::ranges::find(kModels, name, &Model::name);
  TANDEM_CHECK(at != kModels.end(), "there is no model '", name, "'");
  return *at;
}

DataForm random_form(const Model& model) {
  constexpr const char* kCharacters =
      " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,;:!?'-\n";
  if (model.reads_text)
    return {.sample = {}, .classes = 0, .vocabulary = datasets::Vocabulary(kCharacters)};
  return {.sample = model.colour ? Shape{3, 32, 32} : Shape{1, 28, 28},
          .classes = 10,
          .vocabulary = {}};
}

std::map<std::string, std::int64_t> model_sizes(const ModelChoice& choice, const DataForm& form) {
  if (!form.is_text()) return {};
  return {
      {"layers", choice.gpt.layers},
      {"width", choice.gpt.width},
      {"heads", choice.gpt.heads},
      {"context", choice.gpt.context},
      {"vocabulary", choice.gpt.vocabulary > 0 ? choice.gpt.vocabulary : form.vocabulary.size()}};
}

nn::models::GptOptions gpt_options(const std::map<std::string, std::int64_t>& sizes) {
  const auto size = [&](const char* name) {
    const auto at = sizes.find(name);
    TANDEM_CHECK(at != sizes.end(), "it does not give the model's ", name);
    return at->second;
  };
  return {.layers = size("layers"),
          .width = size("width"),
          .heads = size("heads"),
          .context = size("context"),
          .vocabulary = size("vocabulary")};
}

}  // namespace tandem::cli
