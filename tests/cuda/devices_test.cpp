// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "cuda/gpus.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

constexpr std::size_t kGiB = std::size_t{1} << 30;

using DevicesTest = BareTest;

TEST_F(DevicesTest, ListsNameGpusOrShareThem) {
  EXPECT_THAT(parse_devices("cuda"), ElementsAre(DeviceSpec{gpu(0), {}, 0}));
  EXPECT_THAT(parse_devices("cuda:1"), ElementsAre(DeviceSpec{gpu(1), {}, 1}));
  EXPECT_THAT(parse_devices("cuda:1,cuda:0"),
              ElementsAre(DeviceSpec{gpu(1), {}, 1}, DeviceSpec{gpu(0), {}, 0}));
  EXPECT_THAT(parse_devices("cuda:1x1"), ElementsAre(DeviceSpec{gpu(0), {}, 1}));
  EXPECT_THAT(parse_devices("cuda:0x2@20GiB,cuda:1"),
              ElementsAre(DeviceSpec{gpu(0), 20 * kGiB, 0},
                          DeviceSpec{gpu(1), 20 * kGiB, 0},
                          DeviceSpec{gpu(2), {}, 1}));
  EXPECT_THAT(parse_devices("cpu:1,cuda:1x2"),
              ElementsAre(DeviceSpec{{DeviceType::cpu, 0}, {}, -1},
                          DeviceSpec{gpu(0), {}, 1},
                          DeviceSpec{gpu(1), {}, 1}));
}

TEST_F(DevicesTest, ListsThatAreWrongSayWhatWasExpected) {
  for (const char* text : {"cuda:", "cuda:x2", "cuda:-1", "cuda:128", "cuda:0y2"}) {
    EXPECT_THAT(thrown_text([=] { parse_devices(text); }),
                AllOf(HasSubstr("needs the index of a GPU"), HasSubstr("cuda:0x4@20GiB")))
        << text;
  }
  for (const char* text : {"cuda:0x", "cuda:0x0", "cuda:0x-1", "cuda:0x2x2"})
    EXPECT_THAT(thrown_text([=] { parse_devices(text); }), HasSubstr("count of at least 1"));
  EXPECT_THAT(thrown_text([] { parse_devices("cuda:0x80,cuda:1x49"); }), HasSubstr("at most 128"));
}

TEST_F(DevicesTest, LogicalDevicesOfAGpuHaveTheirLimits) {
  EXPECT_THAT(configure_devices("cuda:0x4@20GiB"), ElementsAre(gpu(0), gpu(1), gpu(2), gpu(3)));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(gpu_of(gpu(i)), 0);
    EXPECT_EQ(logical_device(gpu(i)).limit(), 20 * kGiB);
  }
  EXPECT_EQ(device_count(DeviceType::cuda), 4);
  configure_devices("cuda:0x2");
  EXPECT_EQ(logical_device(gpu(1)).limit(), SIZE_MAX);
  EXPECT_EQ(logical_device(gpu(2)).limit(), 20 * kGiB) << "not listed: as it was";
  EXPECT_EQ(device_count(DeviceType::cuda), 2);
}

TEST_F(DevicesTest, LogicalDevicesOfTwoGpus) {
  configure_devices("cuda:0x2,cuda:1x2");
  EXPECT_THAT((std::vector{gpu_of(gpu(0)), gpu_of(gpu(1)), gpu_of(gpu(2)), gpu_of(gpu(3))}),
              ElementsAre(0, 0, 1, 1));
}

TEST_F(DevicesTest, AGpuAloneKeepsItsName) {
  EXPECT_THAT(configure_devices("cuda:1"), ElementsAre(gpu(1)));
  EXPECT_EQ(gpu_of(gpu(1)), 1);
  EXPECT_EQ(device_count(DeviceType::cuda), 2);
}

TEST_F(DevicesTest, AllGpusAreTheDefault) {
  stand_in::set_gpus(3);
  EXPECT_THAT(default_devices(), ElementsAre(gpu(0), gpu(1), gpu(2)));
  EXPECT_EQ(device_count(DeviceType::cuda), 3);
  EXPECT_EQ(gpu_of(gpu(2)), 2);
}

TEST_F(DevicesTest, WithoutAGpuTheHostIsTheDefault) {
  stand_in::set_gpus(0);
  EXPECT_EQ(default_devices().front().type, DeviceType::cpu);
  EXPECT_EQ(device_count(DeviceType::cuda), 0);
  EXPECT_THAT(thrown_text([] { configure_devices("cuda:0"); }),
              AllOf(HasSubstr("there is no GPU 0"), HasSubstr("use cpu devices")));
}

TEST_F(DevicesTest, WithoutAGpuNothingIsSaid) {
  stand_in::set_gpus(0);
  ::testing::internal::CaptureStderr();
  default_devices();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(DevicesTest, ADriverThatFailsIsNoGpuAndSaysWhy) {
  stand_in::set_driver(12040);
  const auto why = AllOf(HasSubstr("cudaErrorInsufficientDriver"),
                         HasSubstr("the driver supports CUDA 12.4"),
                         HasSubstr("tandem was built with CUDA 1"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(device_count(DeviceType::cuda), 0);
  EXPECT_EQ(default_devices().front().type, DeviceType::cpu);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(why, HasSubstr("work runs on the host")));
  EXPECT_THAT(thrown_text([] { configure_devices("cuda:0"); }),
              AllOf(HasSubstr("there is no GPU 0"), why, HasSubstr("use cpu devices")));
}

TEST_F(DevicesTest, ADriverThatIsNotThereIsNamed) {
  stand_in::set_driver(0);
  ::testing::internal::CaptureStderr();
  default_devices();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("no driver is installed"));
}

TEST_F(DevicesTest, NothingIsSaidWhereTheListIsGiven) {
  stand_in::set_driver(0);
  setenv("TANDEM_DEVICES", "cpu:2", 1);
  ::testing::internal::CaptureStderr();
  default_devices();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(DevicesTest, AGpuWithoutPoolsIsRefusedByName) {
  stand_in::set_pools(false);
  EXPECT_THAT(
      thrown_text<DeviceError>([] { logical_device(gpu(0)); }),
      AllOf(HasSubstr("GPU 0"), HasSubstr("no memory pools"), HasSubstr("use cpu devices")));
}

TEST_F(DevicesTest, TheEnvironmentListsThem) {
  setenv("TANDEM_DEVICES", "cuda:1x2@1GiB", 1);
  EXPECT_THAT(default_devices(), ElementsAre(gpu(0), gpu(1)));
  EXPECT_EQ(gpu_of(gpu(1)), 1);
  EXPECT_EQ(logical_device(gpu(1)).limit(), kGiB);
}

TEST_F(DevicesTest, AnUnknownGpuChangesNothing) {
  const std::vector<Device> before = default_devices();
  EXPECT_THAT(thrown_text([] { configure_devices("cuda:0x2@1GiB,cuda:2x1"); }),
              AllOf(HasSubstr("cuda:2: there is no GPU 2"), HasSubstr("this machine has 2")));
  EXPECT_EQ(default_devices(), before);
  configure_devices("cuda:1x2");  // none of the first list's devices is in use
  EXPECT_EQ(gpu_of(gpu(0)), 1);
  EXPECT_EQ(logical_device(gpu(0)).limit(), SIZE_MAX);
}

TEST_F(DevicesTest, ADeviceInUseStaysOnItsGpu) {
  configure_devices("cuda:0x2");
  EXPECT_THAT(thrown_text([] { configure_devices("cuda:0x1@1GiB,cuda:1x1"); }),
              AllOf(HasSubstr("cuda:1 is in use on GPU 0"), HasSubstr("cannot move to GPU 1")));
  EXPECT_THAT(default_devices(), ElementsAre(gpu(0), gpu(1)));
  EXPECT_EQ(logical_device(gpu(0)).limit(), SIZE_MAX);
  EXPECT_EQ(gpu_of(gpu(1)), 0);
  EXPECT_THAT(configure_devices("cuda:0x2,cuda:1x1"), ElementsAre(gpu(0), gpu(1), gpu(2)));
}

TEST_F(DevicesTest, ACallThatFailsLeavesNoDevice) {
  EXPECT_EQ(device_count(DeviceType::cuda), 2);
  const std::size_t before = stand_in::live_objects();
  for (const char* call : {"cudaSetDevice",
                           "cudaDeviceGetAttribute",
                           "cudaDeviceGetStreamPriorityRange",
                           "cudaStreamCreateWithPriority",
                           "cudaMemPoolCreate",
                           "cudaMemPoolSetAttribute",
                           "cudaDeviceCanAccessPeer"}) {
    SCOPED_TRACE(call);
    stand_in::fail_call(call, 1, 999);
    std::string text;
    std::thread([&] {  // it has chosen no GPU
      text = thrown_text<DeviceError>([] { logical_device(gpu(1)); });
    })
        .join();
    EXPECT_THAT(text, AllOf(HasSubstr(call), HasSubstr("999")));
    EXPECT_EQ(stand_in::live_objects(), before);
  }
  EXPECT_EQ(gpu_of(gpu(1)), 1);
}

TEST_F(DevicesTest, CollectivesGoBeforeOtherWorkOfTheirGpu) {
  const GpuDevice& device = *logical_device(gpu(1)).gpu();
  int least = 0, greatest = 0, main = 1, side = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  ASSERT_EQ(cudaStreamGetPriority(device.main_stream()->cuda(), &main), cudaSuccess);
  ASSERT_EQ(cudaStreamGetPriority(device.side_stream()->cuda(), &side), cudaSuccess);
  EXPECT_EQ(main, least);
  EXPECT_EQ(side, greatest);
}

TEST_F(DevicesTest, TheDefaultDeviceIsWhereTensorsAre) {
  EXPECT_EQ(get_default_device(), (Device{DeviceType::cpu, 0}));
  set_default_device(gpu(1));
  EXPECT_EQ(get_default_device(), gpu(1));
  EXPECT_EQ(ones({2}).device(), gpu(1));
  EXPECT_THAT(thrown_text([] { set_default_device(gpu(2)); }), HasSubstr("there is no GPU 2"));
  EXPECT_EQ(get_default_device(), gpu(1));
}

}  // namespace
}  // namespace tandem::cuda::test
