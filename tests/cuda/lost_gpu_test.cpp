// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// GPUs that take no more work, drivers that are gone, and work that does not end.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/event.hpp"

#include "comm/run_ranks.hpp"
#include "cuda/training.hpp"
#include "runtime/cuda/check.hpp"
#include "thrown_text.hpp"

namespace tandem::cuda::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

constexpr int kIllegalAddress = 700;

class LostGpuTest : public GpusTest {
 protected:
  static constexpr TensorOptions on(int device) {
    return {.dtype = DType::f64, .device = {DeviceType::cuda, device}};
  }
  /// GPU 1 (cuda:2, cuda:3) takes no more work from here on.
  static void lose() {
    logical_device(gpu(2)).gpu()->activate();
    stand_in::fail_call("cudaStreamQuery", 1, kIllegalAddress);
    const std::string text =
        thrown_text<DeviceError>([] { logical_device(gpu(2)).stream().synchronize(); });
    EXPECT_THAT(text,
                AllOf(HasSubstr("GPU 1"),
                      HasSubstr("cudaStreamQuery"),
                      HasSubstr("cudaErrorIllegalAddress"),
                      HasSubstr("700"),
                      HasSubstr("restart")));
  }
  static void expect_lost(int device) {
    SCOPED_TRACE(to_string(gpu(device)));
    for (const auto& use : std::vector<std::function<void()>>{
             [=] { ones({4}, on(device)); },
             [=] {
               tensor_of({1, 2}, gpu(device));
             },
             [=] { logical_device(gpu(device)).stream().synchronize(); },
             [=] { Event().record(logical_device(gpu(device)).stream()); }}) {
      EXPECT_THAT(thrown_text<DeviceError>(use),
                  AllOf(HasSubstr("GPU 1"), HasSubstr("IllegalAddress"), HasSubstr("restart")));
    }
  }
  static void expect_usable(int device) {
    EXPECT_EQ(mul(tensor_of({1, 2}, gpu(device)), 2).to_doubles(), (std::vector<double>{2, 4}));
  }
};

TEST_F(LostGpuTest, LaterCallsSayRestartAndOtherGpusGoOn) {
  const Tensor there = ones({4}, on(3)), here = ones({4}, on(0));
  lose();
  expect_lost(2);
  expect_lost(3);
  EXPECT_THAT(thrown_text<DeviceError>([&] { there.to_doubles(); }), HasSubstr("restart"));
  EXPECT_THAT(thrown_text<DeviceError>([&] { there.to(gpu(0)); }), HasSubstr("restart"));
  EXPECT_THAT(thrown_text<DeviceError>([&] { mul(there, 2); }), HasSubstr("restart"));
  expect_usable(0);
  expect_usable(1);
  EXPECT_EQ(here.to(gpu(1)).to_doubles(), std::vector<double>(4, 1));
}

// A kernel's error is found by whatever asks the GPU next.
TEST_F(LostGpuTest, AKernelThatFailsEndsTheUseOfItsGpu) {
  const Tensor x = tensor_of({1, 2}, gpu(2));
  stand_in::fail_kernel(1, kIllegalAddress);
  const Tensor y = mul(x, 2);
  EXPECT_THAT(thrown_text<DeviceError>([&] { y.to_doubles(); }),
              AllOf(HasSubstr("GPU 1"), HasSubstr("IllegalAddress"), HasSubstr("restart")));
  expect_lost(3);
  expect_usable(0);
}

TEST_F(LostGpuTest, EveryErrorThatEndsTheUseOfAGpuSaysSo) {
  constexpr int kContained = 226, kTensorMemoryLeak = 721, kExternalDevice = 911;
  for (const int code : {kContained, kTensorMemoryLeak, kExternalDevice}) {
    stand_in::reset();
    logical_device(gpu(0)).gpu()->activate();
    EXPECT_THAT(
        thrown_text<DeviceError>([=] { check(static_cast<cudaError_t>(code), "a call", 1); }),
        AllOf(HasSubstr(std::to_string(code)), HasSubstr("restart")));
  }
  expect_usable(0);
}

TEST_F(LostGpuTest, AnUnknownErrorEndsItOnlyWhereItStays) {
  constexpr int kUnknown = 999;
  const auto fail = [=] { check(static_cast<cudaError_t>(kUnknown), "a call", 1); };
  EXPECT_THAT(thrown_text<DeviceError>(fail), ::testing::Not(HasSubstr("restart")));
  expect_usable(2);
  stand_in::fail_call("cudaMemGetInfo", 1, kUnknown);
  EXPECT_THAT(thrown_text<DeviceError>(fail), HasSubstr("restart"));
}

TEST_F(LostGpuTest, ALibraryThatFailsOnALostGpuSaysThatItIsLost) {
  check_context(1, "cublasLtMatmul");
  stand_in::fail_call("cudaMemGetInfo", 1, kIllegalAddress);
  EXPECT_THAT(thrown_text<DeviceError>([] { check_context(1, "cublasLtMatmul"); }),
              AllOf(HasSubstr("GPU 1"), HasSubstr("cublasLtMatmul"), HasSubstr("restart")));
  EXPECT_THAT(thrown_text<DeviceError>([] { check_context(1, "cublasLtMatmul"); }),
              HasSubstr("restart"));
}

TEST_F(LostGpuTest, AProgramWithoutCodeForTheGpuSaysHowToBuildIt) {
  stand_in::fail_call("cudaLaunchKernel", 1, 209);  // cudaErrorNoKernelImageForDevice
  const Tensor x = tensor_of({1, 2}, gpu(0));
  EXPECT_THAT(thrown_text<DeviceError>([&] { mul(x, 2); }),
              AllOf(HasSubstr("this GPU is sm_75"), HasSubstr("CMAKE_CUDA_ARCHITECTURES=75")));
  expect_usable(0);
}

// The thread that asks may be another GPU's: that one is not the lost one.
TEST_F(LostGpuTest, AnEventTellsWhichGpuIsLost) {
  Event event;
  event.record(logical_device(gpu(2)).stream());
  stand_in::fail_call("cudaMemPoolTrimTo", 1, kIllegalAddress);
  logical_device(gpu(2)).release_cached();  // its status is not looked at
  logical_device(gpu(0)).gpu()->activate();
  EXPECT_THAT(thrown_text<DeviceError>([&] { event.wait("test"); }),
              AllOf(HasSubstr("GPU 1"), HasSubstr("restart")));
  EXPECT_THROW(event.query(), DeviceError);
  expect_usable(0);
  expect_lost(2);
}

TEST_F(LostGpuTest, WhatWasMadeOnItGoesWithoutAWord) {
  auto training = std::make_optional<Training>(std::vector{gpu(0), gpu(2)});
  training->step();
  auto group = std::make_optional(comm::make_group(default_devices()));
  auto x = std::make_optional(ones({4}, on(2)));
  auto event = std::make_unique<Event>();
  event->record(logical_device(gpu(2)).stream());
  for (const int device : {0, 2}) {  // else who waits for the lost GPU's events would be lost too
    logical_device(gpu(device)).stream().synchronize();
    logical_device(gpu(device)).side_stream().synchronize();
  }
  lose();
  EXPECT_THROW(training->step(), parallel::ReplicaError);
  x.reset();
  event.reset();
  group.reset();
  training.reset();
  expect_usable(0);
}

TEST_F(LostGpuTest, WhatWasMadeGoesAfterTheDriver) {
  auto training = std::make_optional<Training>(default_devices());
  training->step();
  auto group = std::make_optional(comm::make_group(default_devices()));
  std::vector<comm::Handle> handles;
  handles.push_back(group->front()->start_all_reduce(ones({4}, on(0))));
  auto x = std::make_optional(ones({4}, on(2)));
  auto event = std::make_unique<Event>();
  event->record(logical_device(gpu(1)).stream());
  {
    const ContextScope inputs([](Context& c) { c.category = Category::input; });
    ones({40'000}, {.dtype = DType::f64, .device = Device{}});  // pinned
  }
  stand_in::unload();
  EXPECT_THROW(training->step(), Error);
  EXPECT_THROW(x->to_doubles(), DeviceError);
  EXPECT_THROW(event->query(), DeviceError);
  handles.clear();
  x.reset();
  event.reset();
  group.reset();
  training.reset();
  logical_device(Device{}).release_cached();
}

TEST_F(LostGpuTest, AStepWhoseGpuDoesNotEndEndsByItsDeadline) {
  Training training({gpu(0), gpu(2)}, {.deadline = 500ms});
  parallel::test::Batch batch = training.batch();
  training.set_batch({batch.x.to(gpu(0)), batch.labels.to(gpu(0))});
  training.step();
  const auto before = training.values();
  stand_in::set_peers(stand_in::Peers::hanging);  // what the probe saw is no longer so
  const auto start = Clock::now();
  try {
    training.step();
    ADD_FAILURE() << "it ended";
  } catch (const Error& e) {
    EXPECT_NE(find_cause<Timeout>(e), nullptr) << e.what();
    EXPECT_THAT(e.what(), HasSubstr("deadline"));
  }
  EXPECT_LT(Clock::now() - start, 5s);
  stand_in::reset();  // copies that hang end
  EXPECT_EQ(training.values(), before);
  expect_usable(2);
}

TEST_F(LostGpuTest, WaitsEndByTheContextsDeadlineOrAbort) {
  const Tensor x = ones({100}, on(0));
  EXPECT_EQ(x.to(gpu(2)).to_doubles()[99], 1);
  stand_in::set_peers(stand_in::Peers::hanging);
  const Tensor y = x.to(gpu(2));  // does not wait
  Event event;
  event.record(logical_device(gpu(2)).stream());
  const auto token = std::make_shared<AbortToken>();
  token->abort("the test says so");
  const std::vector<double> large(20'000);
  const std::vector<std::function<void()>> waits{
      [&] { y.to_doubles(); },
      [&] { logical_device(gpu(2)).stream().synchronize(); },
      [&] { event.wait("test"); },
      [&] { tensor_of(large, gpu(2)); },
  };
  for (const auto& wait : waits) {
    const auto start = Clock::now();
    const ContextScope late([&](Context& c) { c.deadline = Deadline(100ms); });
    EXPECT_THAT(thrown_text<Timeout>(wait), HasSubstr("deadline"));
    EXPECT_LT(Clock::now() - start, 4s);
    const ContextScope aborted([&](Context& c) { c.abort = token; });
    EXPECT_THAT(thrown_text<CommAborted>(wait), HasSubstr("the test says so"));
  }
  EXPECT_FALSE(event.query());
}

}  // namespace
}  // namespace tandem::cuda::test
