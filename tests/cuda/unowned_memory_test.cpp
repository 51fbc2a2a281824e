// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/unowned_memory.hpp"

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/buffer.hpp"

#include "cuda/gpus.hpp"

namespace tandem::cuda::test {
namespace {

using ::testing::Optional;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr int kNvmlErrorUnknown = 999;  // NVML_ERROR_UNKNOWN

unsigned int own_pid() {
  return static_cast<unsigned int>(getpid());
}

Buffer hold(int device, std::size_t nbytes) {
  return {gpu(device), nbytes, Category::activation};
}

using NoNvmlTest = GpusTest;

/// With the stand-in for NVML, and 1000 bytes in use of each GPU.
class UnownedMemoryTest : public GpusTest {
 protected:
  UnownedMemoryTest() {
    if (dlopen(TANDEM_STAND_IN_NVML, RTLD_NOW) == nullptr) ADD_FAILURE() << dlerror();
  }

 private:
  Buffer first_ = hold(0, 600), second_ = hold(1, 400), third_ = hold(2, 1000);
};

TEST_F(UnownedMemoryTest, IsWhatTheProcessHoldsLessWhatAllDevicesOfTheGpuHaveInUse) {
  stand_in::set_processes(0, {{own_pid() + 1, 7 * kMebibyte}, {own_pid(), kMebibyte}});
  stand_in::set_processes(1, {{own_pid(), 1000}});
  EXPECT_THAT(unowned_memory(gpu(0)), Optional(kMebibyte - 1000));
  EXPECT_THAT(unowned_memory(gpu(1)), Optional(kMebibyte - 1000));
  EXPECT_THAT(unowned_memory(gpu(2)), Optional(0u));
  const Buffer more = hold(1, 24);
  EXPECT_THAT(unowned_memory(gpu(0)), Optional(kMebibyte - 1024));
}

TEST_F(UnownedMemoryTest, IsNotToldOfAProcessThatIsNotListed) {
  stand_in::set_processes(0, {{own_pid() + 1, kMebibyte}});
  EXPECT_EQ(unowned_memory(gpu(0)), std::nullopt);
  EXPECT_EQ(unowned_memory(gpu(2)), std::nullopt) << "no process at all";
}

TEST_F(UnownedMemoryTest, IsNotToldWhereTheListedBytesAreNotThisProcess) {
  stand_in::set_processes(0, {{own_pid(), UINT64_MAX}});  // NVML_VALUE_NOT_AVAILABLE
  stand_in::set_processes(1, {{own_pid(), 999}});         // less than what is in use
  EXPECT_EQ(unowned_memory(gpu(0)), std::nullopt);
  EXPECT_EQ(unowned_memory(gpu(2)), std::nullopt);
}

TEST_F(UnownedMemoryTest, AListThatIsTooLongIsAskedForAgain) {
  std::vector<stand_in::GpuProcess> many;
  for (unsigned int i = 1; i <= 100; ++i)
    many.push_back({own_pid() + i, kMebibyte});
  many.push_back({own_pid(), kMebibyte});
  stand_in::set_processes(0, many);
  EXPECT_THAT(unowned_memory(gpu(0)), Optional(kMebibyte - 1000));
  EXPECT_EQ(stand_in::call_counts()["nvmlDeviceGetComputeRunningProcesses_v3"], 2);
}

TEST_F(UnownedMemoryTest, ACallThatFailsTellsNothingAndHarmsNothing) {
  stand_in::set_processes(0, {{own_pid(), kMebibyte}});
  for (const char* call : {"cudaDeviceGetPCIBusId",
                           "nvmlDeviceGetHandleByPciBusId_v2",
                           "nvmlDeviceGetComputeRunningProcesses_v3"}) {
    stand_in::fail_call(call, 1, kNvmlErrorUnknown);
    EXPECT_EQ(unowned_memory(gpu(0)), std::nullopt) << call;
    EXPECT_THAT(unowned_memory(gpu(0)), Optional(kMebibyte - 1000)) << call;
  }
  EXPECT_EQ(mul(tensor_of({1, 2}, gpu(0)), 2).to_doubles(), (std::vector<double>{2, 4}));
}

TEST_F(UnownedMemoryTest, AnNvmlThatDoesNotStartTellsNothing) {
  stand_in::set_processes(0, {{own_pid(), kMebibyte}});
  stand_in::fail_call("nvmlInit_v2", 1, kNvmlErrorUnknown);
  EXPECT_EQ(unowned_memory(gpu(0)), std::nullopt);
  EXPECT_EQ(unowned_memory(gpu(0)), std::nullopt);
  EXPECT_EQ(stand_in::call_counts()["nvmlInit_v2"], 1);
}

TEST_F(UnownedMemoryTest, ThreadsOpenNvmlOnce) {
  stand_in::set_processes(0, {{own_pid(), kMebibyte}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] { EXPECT_THAT(unowned_memory(gpu(0)), Optional(kMebibyte - 1000)); });
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(stand_in::call_counts()["nvmlInit_v2"], 1);
}

TEST_F(UnownedMemoryTest, IsForGpusInUse) {
  stand_in::set_processes(0, {{own_pid(), kMebibyte}});
  EXPECT_EQ(unowned_memory({DeviceType::cpu, 0}), std::nullopt);
  EXPECT_EQ(unowned_memory(gpu(9)), std::nullopt) << "it has not been made";
}

TEST_F(NoNvmlTest, NothingIsTold) {
  ASSERT_EQ(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
  stand_in::set_processes(0, {{own_pid(), kMebibyte}});
  EXPECT_EQ(unowned_memory(gpu(0)), std::nullopt);
}

}  // namespace
}  // namespace tandem::cuda::test
