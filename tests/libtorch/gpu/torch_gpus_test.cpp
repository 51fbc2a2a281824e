// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// PyTorch's GPUs as devices of tandem: memory, copies, collectives, updates.

#include <numeric>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/runtime/upload.hpp"
#include "tandem/tensor/factories.hpp"

#include "gpu/gpu_values.hpp"
#include "gpu/gpus.hpp"
#include "libtorch/gpu/update_space.hpp"
#include "libtorch/versions/torch_differences.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TorchGpusTest : public GpusTest {
 protected:
  std::vector<std::unique_ptr<comm::Communicator>> group(
      comm::Backend backend = comm::Backend::local) const {
    return comm::make_group(devices(), {.backend = backend});
  }
};

/// In a process without other devices.
class SharedGpuTest : public TorchGpusTest {};

TEST_F(TorchGpusTest, BytesGoThereAndBackAndBetween) {
  for (const std::int64_t n : {0, 1, 1000, 100'000}) {  // some beyond what the driver takes at once
    std::vector<double> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 1);
    const Tensor there = values(all, gpu(0));
    EXPECT_EQ(there.to_doubles(), all);
    EXPECT_EQ(there.to(gpu(1)).to_doubles(), all);
    EXPECT_EQ(there.to(gpu(1)).to(gpu(0)).to(Device{}).to_doubles(), all);
  }
}

TEST_F(TorchGpusTest, UploadedMemoryIsGivenOutAgainAfterItsUses) {
  const Tensor host = values(std::vector<double>(1000, 1.5), Device{});
  const BufferPart part{&host.buffer(), 0, host.nbytes()};
  const Tensor there = values(std::vector<double>(1000, 0), gpu(0));
  for (int i = 0; i < 8; ++i) {
    const auto uploaded = fill(std::span(&part, 1), gpu(0)).take();
    // Of the main stream; the memory goes before it has ended.
    copy_bytes(*uploaded, 0, there.buffer(), 0, part.nbytes);
  }
  EXPECT_EQ(there.to_doubles(), host.to_doubles());
}

TEST_F(TorchGpusTest, ACopyOnOneGpuIsBetweenTheWritesOfItsSource) {
  Tensor x = values({1, 2, 3}, gpu(0));
  x.mul_(2);
  const BufferPart part{&x.buffer(), 0, x.nbytes()};
  const auto copy = fill(std::span(&part, 1), gpu(0)).take();
  x.mul_(2);
  std::vector<float> found(3);
  read(*copy, 0, found.data(), copy->nbytes(), "test");
  EXPECT_EQ(found, (std::vector<float>{2, 4, 6}));
}

TEST_F(TorchGpusTest, BothStreamsGoOnAfterACopyBetweenThem) {
  Tensor x = values({1, 2, 3}, gpu(0));
  const Tensor y = values({0, 0, 0}, gpu(0));
  LogicalDevice& device = logical_device(gpu(0));
  gpu_backend().copy_between(device.stream(), x.data(), device.side_stream(), y.data(), x.nbytes());
  x.mul_(2);
  device.side_stream().synchronize();
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{1, 2, 3}));
}

TEST_F(TorchGpusTest, MemoryIsOfPyTorchsAllocator) {
  const Tensor x = values(std::vector<double>(1000, 1), gpu(1));
  EXPECT_EQ(logical_device(gpu(1)).memory_stats().in_use, 4000U);
  const at::Tensor all = at::empty({1}, at::device(c10::Device(at::kCUDA, 1)));
  EXPECT_NE(all.data_ptr(), x.data());
}

TEST_F(TorchGpusTest, TensorsAreExchangedWithPyTorchOnTheirGpuAlone) {
  const at::Tensor x = at::arange(4, at::device(c10::Device(at::kCUDA, 1)).dtype(at::kFloat));
  const Tensor same = from_torch(x);
  EXPECT_EQ(same.device(), gpu(1));
  EXPECT_EQ(same.data(), x.data_ptr());
  EXPECT_EQ(to_torch(same).data_ptr(), x.data_ptr());
  EXPECT_THAT(thrown_text([&] { from_torch(x, gpu(0)); }), HasSubstr("cuda:0 is on GPU 0"));
  EXPECT_THAT(thrown_text([&] { from_torch(x.cpu(), gpu(0)); }), HasSubstr("cuda:0 is on GPU 0"));
  EXPECT_THAT(thrown_text([&] { from_torch(x, Device{}); }), HasSubstr("not on the host"));
}

TEST_F(TorchGpusTest, AnOpOfTandemsIsRefusedByName) {
  const Tensor x = values({1, 2}, gpu(0));
  EXPECT_THAT(thrown_text([&] { relu(x); }), HasSubstr("cuda:0"));
}

/// Blocks that PyTorch's allocator has given out of a GPU's memory.
std::int64_t allocations(int index) {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = allocator_of_gpus().getDeviceStats(static_cast<c10::DeviceIndex>(index));
  return stats.allocation[kAll].allocated;
}

/// `pattern` over and over, n elements.
std::vector<double> repeated(const std::vector<double>& pattern, std::size_t n) {
  std::vector<double> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = pattern[i % pattern.size()];
  return all;
}

/// A parameter of n elements after some steps of an optimizer that `make(params)` gives. On a GPU
/// no step takes memory after it was prepared.
template <class Make>
std::vector<double> after_steps(Make make, Device device, std::size_t n) {
  Tensor p = values(repeated({1, -2, 3, 0.5, 0}, n), device);
  p.requires_grad_();
  const auto optimizer = make(std::vector<Tensor>{p});
  for (const double g : {0.5, -1.0, 0.25}) {
    p.set_grad(values(repeated({g, 2 * g, 1, -g, 0}, n), device));
    optimizer->prepare();
    const std::int64_t before = allocations(0);
    EXPECT_EQ(optimizer->commit(), nullptr);
    EXPECT_EQ(allocations(0), before);
  }
  return p.to_doubles();
}

template <class Optimizer, class Options>
auto make_of(Options options) {
  return [options](const std::vector<Tensor>& params) {
    return std::make_unique<Optimizer>(params, options);
  };
}

/// The update of n elements on a GPU beside the host's.
template <class Make>
void check_update(const char* name, Make make, std::size_t n = 2500) {
  SCOPED_TRACE(name);
  const std::vector<double> here = after_steps(make, Device{}, n),
                            there = after_steps(make, gpu(0), n);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_NEAR(here[i], there[i], 2e-6) << i;
}

TEST_F(TorchGpusTest, UpdatesAreThoseOfTheHostAndTakeNoMemory) {
  using optim::LAMBOptions;
  using optim::RMSpropOptions;
  check_update("sgd", make_of<optim::SGD>(optim::SGDOptions{.lr = 0.1, .weight_decay = 0.01}));
  check_update(
      "momentum",
      make_of<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}));
  check_update("rmsprop", make_of<optim::RMSprop>(RMSpropOptions{.lr = 0.1, .weight_decay = 0.1}));
  check_update(
      "centered",
      make_of<optim::RMSprop>(RMSpropOptions{.lr = 0.1, .momentum = 0.5, .centered = true}));
  check_update("adagrad",
               make_of<optim::Adagrad>(optim::AdagradOptions{.lr = 0.1, .weight_decay = 0.1}));
  check_update("adadelta",
               make_of<optim::Adadelta>(optim::AdadeltaOptions{.lr = 0.5, .weight_decay = 0.1}));
  check_update("adam", make_of<optim::Adam>(optim::AdamOptions{.lr = 0.1, .weight_decay = 0.01}));
  check_update("adamw", make_of<optim::AdamW>(optim::AdamWOptions{.lr = 0.1}));
  check_update("nadam", make_of<optim::NAdam>(optim::NAdamOptions{.lr = 0.1, .weight_decay = 0.1}));
  check_update("radam", make_of<optim::RAdam>(optim::RAdamOptions{.lr = 0.1, .weight_decay = 0.1}));
  for (const std::size_t n : {std::size_t{5}, std::size_t{1024}, std::size_t{2500}})
    check_update("lamb", make_of<optim::LAMB>(LAMBOptions{.lr = 0.1, .weight_decay = 0.1}), n);
}

TEST_F(TorchGpusTest, UpdatesOfSeveralPiecesAreThoseOfTheHost) {
  const auto n = static_cast<std::size_t>(UpdateSpace::piece(DType::f32)) + 1030;
  check_update("rmsprop", make_of<optim::RMSprop>(optim::RMSpropOptions{.lr = 0.1}), n);
  check_update("lamb", make_of<optim::LAMB>(optim::LAMBOptions{.lr = 0.1}), n);
}

TEST_F(TorchGpusTest, ARecordHasTheTimesOfItsStreams) {
  const Tensor x = values({1, 2}, gpu(0));
  const profile::StepRecord record = profile::record([&] { x.to(gpu(1)); });
  ASSERT_EQ(record.transfers.size(), 1U);
  EXPECT_TRUE(record.complete);
  EXPECT_LE(record.transfers[0].begin, record.transfers[0].end);
}

TEST_F(SharedGpuTest, FourLogicalDevicesAreOnOne) {
  configure_devices("cuda:0x4");
  auto ranks = group();
  std::vector<Tensor> x;
  for (int r = 0; r < gpus_; ++r)
    x.push_back(values({r + 1.0}, gpu(r)));
  on_each(gpus_, [&](int r) { ranks[r]->all_reduce(x[r]); });
  for (const Tensor& sum : x)
    EXPECT_EQ(sum.to_doubles(), std::vector<double>{gpus_ * (gpus_ + 1) / 2.0});
  EXPECT_THAT(thrown_text([&] { group(comm::Backend::nccl); }),
              AllOf(HasSubstr("cuda:0 and cuda:1 are on one GPU"), HasSubstr("use backend local")));
}

}  // namespace
}  // namespace tandem::libtorch::test
