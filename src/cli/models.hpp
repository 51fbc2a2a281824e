// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/models/gpt.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/train/task.hpp"

#include "cli/choices/model_choice.hpp"
#include "cli/data_form.hpp"

namespace tandem::cli {

/// What a model is built from.
struct ModelSetup {
  const ModelChoice& choice;
  const DataForm& form;
  DType dtype = DType::f32;
  const parallel::DataParallelOptions& parallel;
  training::LossPlace loss_place = training::LossPlace::replica;
};

/// The images that a model is made for. Random ones are like that.
enum class Images : std::uint8_t {
  grey,      ///< 1 x 28 x 28, of 10 classes
  colour,    ///< 3 x 32 x 32, of 10 classes
  imagenet,  ///< 3 x 224 x 224, of 1,000 classes
};

/// A model that can be trained by its name.
struct Model {
  const char* name;
  bool reads_text = false;       ///< otherwise images
  bool has_known_sizes = false;  ///< its sizes and vocabulary follow from its name
  bool sees_later = false;       ///< a token of a text sees those after it
  bool has_batch_norm = false;   ///< so that its rows depend on each other
  bool has_blocks = false;       ///< whose activations can be computed again
  Images images = Images::grey;  ///< of a model that does not read text
  /// The gradient of attention's key bias is zero but for rounding, which AdamW would turn into
  /// steps with a smaller eps (docs/exactness.md).
  double adam_eps = 1e-8;
  /// On the first of the devices.
  std::unique_ptr<training::Task> (*make)(const ModelSetup& setup);
};

std::vector<std::string> model_names();
/// "resnet18 or gpt": the models of which something holds.
std::string models_that(const std::function<bool(const Model&)>& holds);
/// @throws InvalidArgument  there is no such model.
const Model& model_of(const std::string& name);

/// The sizes of a model that has known ones. Its dropout is what all have.
GptSizes known_sizes(const std::string& name);

/// What random samples for the model are like.
DataForm random_form(const Model& model);

/// Sizes that a checkpoint keeps, to build the model again.
std::map<std::string, std::int64_t> model_sizes(const ModelChoice& choice, const DataForm& form);
/// The model of such sizes. @throws InvalidArgument  one is missing.
nn::models::GptOptions gpt_options(const std::map<std::string, std::int64_t>& sizes);

}  // namespace tandem::cli
