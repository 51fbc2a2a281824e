// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/host/op_timer.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/pool.hpp"
#include "tandem/nn/sequential.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::cli {
namespace {

constexpr int kSteps = 10;
constexpr std::int64_t kImages = 12, kSide = 24, kChannels = 24, kFilters = 48;
constexpr std::int64_t kTexts = 4, kContext = 96, kVocabulary = 320;

using Convolutions =
    nn::Sequential<nn::Conv2d, nn::BatchNorm2d, nn::MaxPool2d, nn::Conv2d, nn::BatchNorm2d>;

Convolutions convolutions(Device device) {
  const nn::Conv2dOptions options{.padding = {1, 1}, .device = device};
  const nn::BatchNormOptions norm{.activation = NormActivation::relu, .device = device};
  return Convolutions(nn::Conv2d(kChannels, kFilters, 3, options),
                      nn::BatchNorm2d(kFilters, norm),
                      nn::MaxPool2d(2),
                      nn::Conv2d(kFilters, kFilters, 3, options),
                      nn::BatchNorm2d(kFilters, norm));
}

/// What a device trains. The sizes are those of no model that tandem has.
class Steps {
 public:
  explicit Steps(Device device)
      : images_(randn({kImages, kChannels, kSide, kSide}, {.device = device})
                    .contiguous(MemoryFormat::channels_last)),
        texts_(randint(0, kVocabulary, {kTexts, kContext}).to(device)),
        convolutions_(convolutions(device)),
        transformer_({.layers = 1,
                      .width = 160,
                      .heads = 5,
                      .context = kContext,
                      .vocabulary = kVocabulary,
                      .device = device}),
        sgd_(convolutions_.parameters()),
        adam_(transformer_.parameters()) {
    images_.requires_grad_();
  }

  void run() {
    convolutions_(images_).mean().backward();
    sgd_.step();
    sgd_.zero_grad();
    cross_entropy(transformer_(texts_).flatten(0, 1), texts_.flatten()).backward();
    adam_.step();
    adam_.zero_grad();
  }

 private:
  Tensor images_, texts_;
  Convolutions convolutions_;
  nn::models::Gpt transformer_;
  optim::SGD sgd_;
  optim::AdamW adam_;
};

double seconds_of(const profile::WorkSpan& span) {
  return std::chrono::duration<double>(span.end - span.begin).count();
}

/// The work of one device between barriers, in its order; what is before the first is left out.
std::vector<std::vector<profile::WorkSpan>> steps_of(const profile::StepRecord& record,
                                                     Device device) {
  std::vector<profile::WorkSpan> spans;
  for (const profile::WorkSpan& span : record.work)
    if (span.device == device) spans.push_back(span);
  std::ranges::sort(spans, {}, &profile::WorkSpan::sequence);
  std::vector<std::vector<profile::WorkSpan>> steps;
  for (const profile::WorkSpan& span : spans) {
    const bool begins = span.exchange && span.exchange->point == Exchange::Point::begin;
    if (begins) steps.emplace_back();
    if (!span.exchange && !steps.empty()) steps.back().push_back(span);
  }
  return steps;
}

}  // namespace

std::vector<sim::MeasuredOp> time_ops(const std::vector<Device>& devices) {
  const auto record = profile::record([&] {
    parallel::run_ranks(devices, [](parallel::Rank& rank) {
      Steps steps(rank.device());
      for (int i = 0; i < kSteps; ++i) {
        rank.comm().barrier();
        steps.run();
      }
    });
  });
  const auto steps = steps_of(record, devices.front());
  const auto& last = steps.back();
  std::vector<sim::MeasuredOp> ops;
  for (std::size_t i = 0; i < last.size(); ++i) {
    sim::MeasuredOp op{.name = last[i].name, .cost = last[i].cost, .seconds = seconds_of(last[i])};
    for (const auto& step : steps)  // the first one differs: it makes the optimizers' state
      if (step.size() == last.size()) op.seconds = std::min(op.seconds, seconds_of(step[i]));
    ops.push_back(op);
  }
  return ops;
}

}  // namespace tandem::cli
