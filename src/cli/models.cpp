// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/check.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/needs.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

using tandem::detail::concat;

template <template <class> class T, class M>
std::unique_ptr<training::Task> task(M module,
                                     const parallel::DataParallelOptions& options,
                                     training::LossPlace place) {
  module.to(options.devices.front());
  return std::make_unique<T<M>>(std::move(module), options, place);
}

}  // namespace

std::map<std::string, std::int64_t> model_sizes(const RunOptions& options, const DataSets& data) {
  if (!data.is_text()) return {};
  return {{"layers", options.gpt.layers},
          {"width", options.gpt.width},
          {"heads", options.gpt.heads},
          {"context", options.gpt.context},
          {"vocabulary", data.vocabulary.size()}};
}

nn::models::GptOptions gpt_options(const std::map<std::string, std::int64_t>& sizes) {
  const auto size = [&](const char* name) {
    const auto at = sizes.find(name);
    TANDEM_CHECK(at != sizes.end(), "it does not say the model's ", name);
    return at->second;
  };
  return {.layers = size("layers"),
          .width = size("width"),
          .heads = size("heads"),
          .context = size("context"),
          .vocabulary = size("vocabulary")};
}

std::unique_ptr<training::Task> make_task(const RunOptions& options,
                                          const DataSets& data,
                                          const parallel::DataParallelOptions& parallel) {
  check_model_fits(options, data, parallel);
  const Shape& shape = data.sample;
  const DType dtype = storage_dtype(options);
  const training::LossPlace place = loss_place(options);
  manual_seed(seed_of(options));
  if (data.is_text()) {
    nn::models::GptOptions gpt = gpt_options(model_sizes(options, data));
    gpt.dropout = options.gpt.dropout;
    gpt.dtype = dtype;
    gpt.recompute = options.recompute;
    return task<training::LanguageModel>(nn::models::Gpt(gpt), parallel, place);
  }
  if (options.model == "mlp") {
    return task<training::Classifier>(
        nn::models::Mlp({.sizes = {numel(shape), 1024, 1024, data.classes}, .dtype = dtype}),
        parallel,
        place);
  }
  if (options.model == "cnn") {
    return task<training::Classifier>(
        nn::models::Cnn({.channels = shape[0], .classes = data.classes, .dtype = dtype}),
        parallel,
        place);
  }
  if (options.model == "resnet18") {  // the images of all data sets here are small
    return task<training::Classifier>(nn::models::resnet18({.channels = shape[0],
                                                            .classes = data.classes,
                                                            .stem = nn::models::ResNetStem::cifar,
                                                            .recompute = options.recompute,
                                                            .dtype = dtype}),
                                      parallel,
                                      place);
  }
  return task<training::Classifier>(nn::models::CnnSmall({.channels = shape[0],
                                                          .size = {shape[1], shape[2]},
                                                          .classes = data.classes,
                                                          .dtype = dtype}),
                                    parallel,
                                    place);
}

std::string model_identity(const RunOptions& options, const DataSets& data) {
  std::string sizes;
  for (const auto& [name, size] : model_sizes(options, data))
    sizes += concat(' ', name, ' ', size);
  if (!data.is_text())
    sizes = concat(' ', data.sample[0], 'x', data.sample[1], 'x', data.sample[2]);
  return concat(options.model, sizes, ' ', options.dtype, ", ", options.optimizer);
}

}  // namespace tandem::cli
