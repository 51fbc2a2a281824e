// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/models.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tandem/core/check.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/models/vgg.hpp"

#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

constexpr const char* kBertBase = "bert-base";

/// `T` drives a module on the first of the devices.
template <template <class> class T, class M>
std::unique_ptr<training::Task> task(M module, const ModelSetup& setup) {
  module.to(setup.parallel.devices.front());
  if (setup.choice.batch_norm) nn::convert_sync_batchnorm(module, *setup.choice.batch_norm);
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

/// @param make  a function of ResNetOptions
template <auto make, nn::models::ResNetStem stem = nn::models::ResNetStem::imagenet>
std::unique_ptr<training::Task> make_resnet(const ModelSetup& setup) {
  return task<training::Classifier>(make({.channels = setup.form.sample[0],
                                          .classes = setup.form.classes,
                                          .stem = stem,
                                          .recompute = setup.choice.recompute,
                                          .dtype = setup.dtype}),
                                    setup);
}

std::unique_ptr<training::Task> make_vgg16(const ModelSetup& setup) {
  constexpr std::int64_t kSmallest = 32;
  const Shape& shape = setup.form.sample;
  if (shape[1] < kSmallest || shape[2] < kSmallest)
    throw UsageError(
        fmt::format("--model vgg16 needs images of at least {} x {}, but those of the "
                    "data are {} x {}; give --data cifar10, or another model",
                    kSmallest,
                    kSmallest,
                    shape[1],
                    shape[2]));
  return task<training::Classifier>(
      nn::models::Vgg16(
          {.channels = shape[0], .classes = setup.form.classes, .dtype = setup.dtype}),
      setup);
}

std::unique_ptr<training::Task> make_gpt(const ModelSetup& setup) {
  nn::models::GptOptions options = gpt_options(model_sizes(setup.choice, setup.form));
  options.dropout = setup.choice.gpt.dropout;
  options.dtype = setup.dtype;
  options.recompute = setup.choice.recompute;
  return task<training::LanguageModel>(nn::models::Gpt(options), setup);
}

std::unique_ptr<training::Task> make_bert(const ModelSetup& setup) {
  const GptSizes& sizes = setup.choice.gpt;
  return task<training::LanguageModel>(
      nn::models::BertMaskedLm({.layers = sizes.layers,
                                .width = sizes.width,
                                .heads = sizes.heads,
                                .context = sizes.context,
                                .vocabulary = sizes.vocabulary,
                                .dropout = sizes.dropout,
                                .recompute = setup.choice.recompute,
                                .dtype = setup.dtype}),
      setup);
}

/// It reads the characters of a text as the first of its tokens.
constexpr Model gpt2(const char* name) {
  return {.name = name,
          .reads_text = true,
          .has_known_sizes = true,
          .has_blocks = true,
          .adam_eps = 1e-6,
          .make = make_gpt};
}

/// With ImageNet's stem.
constexpr Model resnet(const char* name,
                       std::unique_ptr<training::Task> (*make)(const ModelSetup&)) {
  return {.name = name,
          .has_batch_norm = true,
          .has_blocks = true,
          .images = Images::imagenet,
          .make = make};
}

const std::array kModels{
    Model{.name = "cnn-small", .make = make_cnn_small},
    Model{.name = "cnn", .has_batch_norm = true, .images = Images::colour, .make = make_cnn},
    Model{.name = "mlp", .make = make_mlp},
    // Its stem is for small images, as those of all data sets are.
    Model{.name = "resnet18",
          .has_batch_norm = true,
          .has_blocks = true,
          .images = Images::colour,
          .make = make_resnet<nn::models::resnet18, nn::models::ResNetStem::cifar>},
    resnet("resnet50", make_resnet<nn::models::resnet50>),
    resnet("resnet101", make_resnet<nn::models::resnet101>),
    resnet("resnext50_32x4d", make_resnet<nn::models::resnext50_32x4d>),
    resnet("resnext101_32x8d", make_resnet<nn::models::resnext101_32x8d>),
    Model{.name = "vgg16", .images = Images::imagenet, .make = make_vgg16},
    Model{
        .name = "gpt", .reads_text = true, .has_blocks = true, .adam_eps = 1e-6, .make = make_gpt},
    gpt2("gpt2"),
    gpt2("gpt2-medium"),
    gpt2("gpt2-large"),
    gpt2("gpt2-xl"),
    Model{.name = kBertBase,
          .reads_text = true,
          .has_known_sizes = true,
          .sees_later = true,
          .has_blocks = true,
          .adam_eps = 1e-6,
          .make = make_bert},
};

DataForm random_images(Images images) {
  switch (images) {
    case Images::imagenet:
      return {.sample = {3, 224, 224}, .classes = 1000, .vocabulary = {}};
    case Images::colour:
      return {.sample = {3, 32, 32}, .classes = 10, .vocabulary = {}};
    case Images::grey:
      break;
  }
  return {.sample = {1, 28, 28}, .classes = 10, .vocabulary = {}};
}

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

GptSizes known_sizes(const std::string& name) {
  const auto sizes_of = [](const auto& options) {
    return GptSizes{.layers = options.layers,
                    .width = options.width,
                    .heads = options.heads,
                    .context = options.context,
                    .vocabulary = options.vocabulary};
  };
  return name == kBertBase ? sizes_of(nn::models::bert_options(name))
                           : sizes_of(nn::models::gpt_options(name));
}

DataForm random_form(const Model& model) {
  constexpr const char* kCharacters =
      " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,;:!?'-\n";
  if (model.reads_text)
    return {.sample = {}, .classes = 0, .vocabulary = datasets::Vocabulary(kCharacters)};
  return random_images(model.images);
}

std::map<std::string, std::int64_t> model_sizes(const ModelChoice& choice, const DataForm& form) {
  if (!form.is_text()) return {};
  const auto characters = static_cast<std::int64_t>(form.vocabulary.size());
  if (choice.gpt.vocabulary > 0 && choice.gpt.vocabulary < characters)
    throw UsageError(tandem::detail::concat("--vocabulary ",
                                            choice.gpt.vocabulary,
                                            " is less than the ",
                                            characters,
                                            " characters of the text; give at least as many"));
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
