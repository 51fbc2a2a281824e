// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Devices of type cuda that another library has registered: in a process of its own, since a
// process has one backend.

#include "runtime/gpu/gpu_backend.hpp"

#include <array>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/runtime/upload.hpp"
#include "tandem/tensor/factories.hpp"

#include "host_gpu_kernels.hpp"
#include "host_gpus.hpp"
#include "tensor/late_items.hpp"
#include "thrown_text.hpp"

namespace tandem::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr int kGpus = 3;

Device gpu(int index) {
  return {DeviceType::cuda, index};
}

class RegisteredBackendTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_gpu_backend(std::make_unique<HostGpus>(kGpus));
    kernels::register_gpu_kernels(std::make_unique<kernels::test::HostGpuKernels>());
  }
};

Tensor values(const std::vector<double>& all, Device device) {
  return from_host(std::span<const double>(all), {static_cast<std::int64_t>(all.size())}, device);
}

TEST_F(RegisteredBackendTest, ItsGpusAreDevices) {
  EXPECT_EQ(device_count(DeviceType::cuda), kGpus);
  EXPECT_THAT(configure_devices("cuda:0,cuda:1,cuda:2"), ElementsAre(gpu(0), gpu(1), gpu(2)));
  EXPECT_THAT(thrown_text([] { logical_device(gpu(7)); }), HasSubstr("there is no GPU 7"));
}

TEST_F(RegisteredBackendTest, LateItemsAreWaitedForOnce) {
  const Tensor wide = values({2.5}, gpu(1)), other = values({4}, gpu(0));
  const Tensor narrow = from_host(std::span<const float>(std::array{0.1F}), {1}, gpu(1));
  LateItems items({wide, narrow, values({3}, Device{}), other});
  EXPECT_FALSE(items.is_known(0));
  EXPECT_FALSE(items.is_known(1));
  EXPECT_TRUE(items.is_known(2));
  EXPECT_TRUE(items.is_known(3)) << "of a second GPU";
  const int before = HostGpuStream::waits;
  EXPECT_EQ(items.get(1), double{0.1F});
  EXPECT_EQ(items.get(0), 2.5);
  EXPECT_EQ(HostGpuStream::waits, before + 1);
  EXPECT_EQ(items.get(2), 3);
  EXPECT_EQ(items.get(3), 4);
}

TEST_F(RegisteredBackendTest, BytesGoThereAndBackAndBetween) {
  const std::vector<double> all{1, -2, 3.5};
  const Tensor there = values(all, gpu(0));
  EXPECT_EQ(there.device(), gpu(0));
  EXPECT_EQ(there.to_doubles(), all);
  EXPECT_EQ(there.to(gpu(1)).to_doubles(), all);
  EXPECT_EQ(there.to(gpu(1)).to(Device{}).to_doubles(), all);
}

TEST_F(RegisteredBackendTest, AnOpThatIsNotItsOwnIsRefusedByName) {
  const Tensor x = values({1, 2}, gpu(0));
  EXPECT_THAT(thrown_text([&] { relu(x); }), AllOf(HasSubstr("relu"), HasSubstr("cuda:0")));
  EXPECT_EQ(x.to_doubles(), (std::vector<double>{1, 2}));
}

TEST_F(RegisteredBackendTest, CollectivesUseItsCopiesAndKernels) {
  std::vector<Device> devices;
  for (int r = 0; r < kGpus; ++r)
    devices.push_back(gpu(r));
  auto ranks = comm::make_group(devices);
  for (const std::int64_t n :
       {0, 1, 2, 100}) {  // fewer elements than ranks, and shares that differ
    std::vector<Tensor> x;
    for (int r = 0; r < kGpus; ++r)
      x.push_back(values(std::vector<double>(static_cast<std::size_t>(n), r + 1), gpu(r)));
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < kGpus; ++r)
      threads.emplace_back([&, r] { ranks[r]->all_reduce(x[r]); });
    for (std::thread& t : threads)
      t.join();
    for (const Tensor& sum : x)
      EXPECT_EQ(sum.to_doubles(), std::vector<double>(static_cast<std::size_t>(n), 6));
  }
}

TEST_F(RegisteredBackendTest, OpsThatAStepNeedsAreItsOwn) {
  const Tensor x = values({1, 2, 3}, gpu(1)), y = values({10, 20, 30}, gpu(1));
  EXPECT_EQ((x + y).to_doubles(), (std::vector<double>{11, 22, 33}));
  Tensor z = x;
  EXPECT_EQ(z.add_(y, 2).mul_(0.5).to_doubles(), (std::vector<double>{10.5, 21, 31.5}));
  z = y;
  EXPECT_EQ(z.fill_(4).to_doubles(), (std::vector<double>{4, 4, 4}));
}

TEST_F(RegisteredBackendTest, AnUpdateThereIsTheHosts) {
  std::vector<std::vector<double>> after;
  for (const Device device : {Device{}, gpu(0)}) {
    Tensor p = values({1, -2, 3}, device);
    p.requires_grad_();
    p.set_grad(values({0.5, 0.25, -1}, device));
    optim::Adam adam(std::vector<Tensor>{p}, optim::AdamOptions{.lr = 0.1});
    adam.step();
    adam.step();
    after.push_back(p.to_doubles());
  }
  EXPECT_EQ(after[0], after[1]);
}

TEST_F(RegisteredBackendTest, ARecordHasTheTimesOfItsStreams) {
  const Tensor x = values({1, 2}, gpu(0));
  const profile::StepRecord record = profile::record([&] { x.to(gpu(1)); });
  ASSERT_EQ(record.transfers.size(), 1U);
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.transfers[0].source, gpu(0));
  EXPECT_LE(record.transfers[0].begin, record.transfers[0].end);
}

TEST_F(RegisteredBackendTest, ItIsNotReplacedWhileInUse) {
  logical_device(gpu(0));
  EXPECT_THAT(thrown_text([] { register_gpu_backend(std::make_unique<HostGpus>(1)); }),
              HasSubstr("in use"));
  EXPECT_EQ(device_count(DeviceType::cuda), kGpus);
}

}  // namespace
}  // namespace tandem::test
