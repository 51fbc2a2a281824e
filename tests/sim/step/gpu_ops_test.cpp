// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A device that stands for a GPU is given the work that a GPU is given, op for op.

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/presets.hpp"
#include "tandem/tensor/factories.hpp"

#include "sim/restored_devices.hpp"

namespace tandem::sim {
namespace {

namespace models = nn::models;

/// Writes down the work of all devices, and what the host reads of them.
class Ops final : public Observer {
 public:
  explicit Ops(Device gpu) : gpu_(gpu) {}

  void on_work_begin(const Work& work, const Stream& stream) noexcept override {
    std::string line = detail::concat(place(stream.device()),
                                      ": ",
                                      work.name,
                                      " of kind ",
                                      static_cast<int>(work.kind),
                                      " in ",
                                      name(work.dtype),
                                      Shape{work.mnk.m, work.mnk.n, work.mnk.k},
                                      ", ",
                                      work.flops,
                                      " flops");
    for (const Access& a : work.accesses)
      line += detail::concat(
          "; ", a.nbytes, a.direction == Direction::read ? " bytes read" : " bytes written");
    lines_.push_back(line);
  }
  void on_read(const char* op, Device device, std::size_t nbytes) noexcept override {
    lines_.push_back(detail::concat(place(device), ": the host reads ", nbytes, " bytes for ", op));
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string place(Device device) const { return device == gpu_ ? "GPU" : "host"; }

  Device gpu_;
  std::vector<std::string> lines_;
};

/// What a step of `net` is given, from the batch on the host to the optimizer.
template <class M>
std::vector<std::string> step_of(M net, const Tensor& x, const Tensor& labels, Device gpu) {
  net.to(gpu);
  optim::AdamW optimizer(net.named_parameters());
  Ops ops(gpu);
  {
    const Subscription subscription(ops);
    const Tensor y = net(x.to(gpu));
    cross_entropy(y.flatten(0, -2), labels.to(gpu).flatten()).backward();
    optimizer.step();
  }
  return ops.lines();
}

Tensor images(std::int64_t channels, std::int64_t side) {
  return randn({2, channels, side, side});
}
Tensor integers(std::int64_t below, const Shape& shape) {
  return randint(0, below, shape);
}

struct Case {
  const char* name;
  std::function<std::vector<std::string>(Device)> step;

  friend std::ostream& operator<<(std::ostream& s, const Case& c) { return s << c.name; }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"mlp",
       [](Device gpu) {
         return step_of(
             models::Mlp({.sizes = {12, 16, 10}}), randn({4, 12}), integers(10, {4}), gpu);
       }},
      {"cnn",
       [](Device gpu) { return step_of(models::Cnn(), images(3, 16), integers(10, {2}), gpu); }},
      {"cnn_small",
       [](Device gpu) {
         return step_of(models::CnnSmall(), images(1, 28), integers(10, {2}), gpu);
       }},
      {"resnet50",
       [](Device gpu) {
         return step_of(
             models::resnet50({.classes = 10, .width = 8}), images(3, 32), integers(10, {2}), gpu);
       }},
      {"gpt2",
       [](Device gpu) {
         const models::GptOptions options{
             .layers = 2, .width = 16, .heads = 2, .context = 8, .vocabulary = 31};
         return step_of(models::Gpt(options), integers(31, {2, 8}), integers(31, {2, 8}), gpu);
       }},
      {"bert",
       [](Device gpu) {
         const models::BertOptions options{
             .layers = 2, .width = 16, .heads = 2, .context = 8, .vocabulary = 31};
         return step_of(
             models::BertMaskedLm(options), integers(31, {2, 8}), integers(31, {2, 8}), gpu);
       }},
  };
  return all;
}

class GpuOpsTest : public ::testing::TestWithParam<std::tuple<Case, DType>> {
 protected:
  /// On a device that stands for a GPU.
  static std::vector<std::string> pretended(ClusterData data) {
    const testing::RestoredDevices restored;
    const auto& [model, dtype] = GetParam();
    const Device gpu = configure_cluster(preset("a100-80x8"), 1, data).gpus.front();
    const Autocast precision(dtype);
    return model.step(gpu);
  }
};

TEST_P(GpuOpsTest, AreTheSameOnADeviceThatStandsForAGpu) {
  if (device_count(DeviceType::cuda) == 0) GTEST_SKIP() << "there is no GPU";
  const auto& [model, dtype] = GetParam();
  std::vector<std::string> on_gpu;
  {
    const Autocast precision(dtype);
    on_gpu = model.step({DeviceType::cuda, 0});
  }
  EXPECT_EQ(pretended(ClusterData::none), on_gpu);
}

TEST_P(GpuOpsTest, AreTheSameWithDataAndWithout) {
  EXPECT_EQ(pretended(ClusterData::none), pretended(ClusterData::kept));
}

INSTANTIATE_TEST_SUITE_P(Models,
                         GpuOpsTest,
                         ::testing::Combine(::testing::ValuesIn(cases()),
                                            ::testing::Values(DType::f32, DType::bf16, DType::f16)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  name(std::get<1>(test.param));
                         });

TEST(GpuMemoryTest, WorkspaceOfTheHostDoesNotCount) {
  const testing::RestoredDevices restored;
  const auto peak_of = [](ClusterData data) {
    const Device gpu = configure_cluster(preset("a100-80x8"), 1, data).gpus.front();
    logical_device(gpu).reset_peak();
    for (const Case& model : cases())
      model.step(gpu);
    return logical_device(gpu).memory_stats();
  };
  const MemoryStats without = peak_of(ClusterData::none), with = peak_of(ClusterData::kept);
  EXPECT_EQ(without.peak, with.peak);
  EXPECT_EQ(without.peak_by_category, with.peak_by_category);
}

}  // namespace
}  // namespace tandem::sim
