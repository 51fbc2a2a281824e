// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// What DLPack can say and tandem does not take, and the other way round.

#include <functional>

#include <gmock/gmock.h>

#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/dlpack.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "foreign_tensor.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using testing::foreign;
using ::testing::HasSubstr;
using testing::Held;
using testing::kForeignF32;
using testing::thrown_text;

/// What from_dlpack says about a tensor of 2 x 3 f32 that `spoil` has changed.
std::string refusal(const std::function<void(DLManagedTensorVersioned&)>& spoil) {
  std::atomic<int> ends = 0;
  const std::vector<float> values(6);
  DLManagedTensorVersioned* const lent = foreign(values, kForeignF32, {2, 3}, {3, 1}, ends);
  spoil(*lent);
  const std::string text = thrown_text([&] { from_dlpack(lent); });
  EXPECT_EQ(ends, 1) << "the loan has ended: " << text;
  EXPECT_EQ(logical_device({DeviceType::cpu, 0}).memory_stats().adopted, 0u);
  return text;
}

std::string refused_tensor(const std::function<void(DLTensor&)>& spoil) {
  return refusal([&](DLManagedTensorVersioned& lent) { spoil(lent.dl_tensor); });
}

struct DlpackRefusalTest : testing::HostTest {};

TEST_F(DlpackRefusalTest, OtherVersions) {
  EXPECT_THAT(refusal([](auto& lent) {
                lent.version = {2, 1};
                lent.dl_tensor.ndim = -7;  // must not be looked at
              }),
              HasSubstr("of DLPack 2.1, but tandem reads 1.x; ask its library for version 1"));
  EXPECT_THAT(refusal([](auto& lent) { lent.version = {0, 8}; }), HasSubstr("DLPack 0.8"));
}

TEST_F(DlpackRefusalTest, OtherDevices) {
  const auto text = [](std::int32_t type) {
    return refused_tensor([&](DLTensor& t) { t.device = {static_cast<DLDeviceType>(type), 3}; });
  };
  EXPECT_THAT(text(kDLCUDA),
              HasSubstr("on CUDA, index 3, but only the host's memory can be shared; copy it to "
                        "the CPU there (PyTorch: x.cpu())"));
  EXPECT_THAT(text(kDLCUDAManaged), HasSubstr("on CUDA's managed memory, index 3"));
  EXPECT_THAT(text(kDLExtDev), HasSubstr("on an extension (ExtDev)"));
  EXPECT_THAT(text(kDLTrn), HasSubstr("on Trainium"));
  EXPECT_THAT(text(5), HasSubstr("on device type 5"));
  EXPECT_THAT(text(-1), HasSubstr("on device type -1"));
  EXPECT_THAT(text(77), HasSubstr("on device type 77"));
}

TEST_F(DlpackRefusalTest, PinnedMemoryIsTheHosts) {
  for (const DLDeviceType type : {kDLCUDAHost, kDLROCMHost}) {
    std::atomic<int> ends = 0;
    const std::vector<float> values{1, 2};
    DLManagedTensorVersioned* const lent = foreign(values, kForeignF32, {2}, {1}, ends);
    lent->dl_tensor.device = {type, 0};
    EXPECT_EQ(from_dlpack(lent).sum().item(), 3);
  }
}

TEST_F(DlpackRefusalTest, OtherDtypes) {
  const auto text = [](DLDataType dtype) {
    return refused_tensor([&](DLTensor& t) { t.dtype = dtype; });
  };
  EXPECT_THAT(text({kDLInt, 16, 1}),
              HasSubstr("the elements are int16; convert them first to one of f32, f64, bf16"));
  EXPECT_THAT(text({kDLUInt, 64, 1}), HasSubstr("uint64"));
  EXPECT_THAT(text({kDLComplex, 64, 1}), HasSubstr("complex64"));
  EXPECT_THAT(text({kDLFloat, 32, 4}), HasSubstr("float32 in lanes of 4"));
  EXPECT_THAT(text({kDLFloat, 32, 0}), HasSubstr("float32 in lanes of 0"));
  EXPECT_THAT(text({kDLBool, 1, 1}), HasSubstr("bool of bits 1"));
  EXPECT_THAT(text({10, 8, 1}), HasSubstr("dtype code 10 of bits 8"));
  EXPECT_THAT(text({255, 0, 1}), HasSubstr("dtype code 255 of bits 0"));
}

TEST_F(DlpackRefusalTest, OtherShapes) {
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.ndim = -1; }), HasSubstr("-1 dimensions"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.ndim = 9; }),
              HasSubstr("9 dimensions; a tensor has 0 to 8, so reshape it first"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.shape = nullptr; }),
              HasSubstr("the shape of 2 dimensions is null"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.shape[0] = -2; }),
              HasSubstr("(-2, 3) has a negative size"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.shape[0] = INT64_MAX / 3; }),
              HasSubstr("(3074457345618258602, 3)"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.strides[1] = -1; }),
              HasSubstr("dimension 1 of (2, 3) has stride -1, but strides cannot be negative; copy "
                        "it first (NumPy: x.copy())"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.strides[1] = INT64_MAX / 2; }),
              HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.strides[0] = INT64_MAX - 8; }),
              HasSubstr("does not fit in 64 bits"));
}

TEST_F(DlpackRefusalTest, OtherMemory) {
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.data = nullptr; }),
              HasSubstr("the data of 24 bytes is null"));
  EXPECT_THAT(refused_tensor([](DLTensor& t) { t.byte_offset = 2; }),
              HasSubstr("are not aligned to their 4 bytes; copy them first"));
  EXPECT_THAT(thrown_text([] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }),
              HasSubstr("the managed tensor is null"));
  EXPECT_THROW(from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)), InvalidArgument);
  std::atomic<int> ends = 0;
  const std::vector<float> values(6);
  auto* const old = foreign<DLManagedTensor>(values, {kDLInt, 8, 1}, {6}, {1}, ends);
  EXPECT_THAT(thrown_text([&] { from_dlpack(old); }), HasSubstr("int8"));
  EXPECT_EQ(ends, 1);
  auto* const lent = foreign(values, kForeignF32, {6}, {1}, ends);
  EXPECT_THAT(
      thrown_text([&] {
        from_dlpack(lent, {DeviceType::cuda, 0});
      }),
      HasSubstr("must be the host's, but the buffer is to be on cuda:0; adopt it on cpu:0"));
  EXPECT_EQ(ends, 2);
}

TEST_F(DlpackRefusalTest, TensorsThatAreNotLent) {
  EXPECT_THAT(thrown_text([] { to_dlpack({}); }), HasSubstr("the tensor is undefined"));
  Tensor x = zeros({2});
  x.requires_grad_();
  EXPECT_THAT(thrown_text([&] { to_dlpack(x); }), HasSubstr("f32 (2) on cpu:0 requires grad"));
  EXPECT_THAT(thrown_text([&] { to_dlpack_unversioned(x, {.copy = true}); }),
              HasSubstr("lend x.detach()"));
  EXPECT_EQ(Held<>(to_dlpack(x.detach()))->dl_tensor.data, x.data());
  EXPECT_THAT(thrown_text([] { to_dlpack_unversioned(zeros({2}), {.read_only = true}); }),
              HasSubstr("is read-only, which DLPack before 1.0 cannot say"));
  const Tensor dropped = zeros({2});
  dropped.buffer().dropped().drop(std::make_shared<const std::string>("blocks.3"));
  EXPECT_THAT(thrown_text([&] { to_dlpack(dropped); }), HasSubstr("has been given back"));
}

TEST_F(DlpackRefusalTest, MemoryOfGpus) {
  if (!testing::on_gpus()) GTEST_SKIP() << "a test for GPUs";
  const Device gpu = testing::device(0);
  EXPECT_THAT(thrown_text([&] { to_dlpack(zeros({2}, {.device = gpu})); }),
              HasSubstr("f32 (2) on cuda:0 is not in the host's memory; lend x.to(\"cpu\")"));
  std::atomic<int> ends = 0;
  const std::vector<float> values(1 << 15, 3);
  const Tensor x =
      from_dlpack(foreign(values, kForeignF32, {1 << 15}, {1}, ends), {}).to(gpu, NonBlocking::yes);
  EXPECT_EQ(ends, 1) << "the GPU has read what is gone";
  EXPECT_EQ(x.sum().item(), 3 << 15);
}

TEST_F(DlpackRefusalTest, LentMemoryStaysInItsPlace) {
  const auto unit = std::make_shared<const std::string>("blocks.3");
  const Tensor x = zeros({2});
  Held<> held(to_dlpack(x));
  EXPECT_THAT(thrown_text([&] { x.buffer().dropped().drop(unit); }),
              HasSubstr("drop: 8 bytes of activation on cpu:0 are lent to another library"));
  held.reset();
  x.buffer().dropped().drop(unit);
  EXPECT_TRUE(x.buffer().is_dropped());
}

}  // namespace
}  // namespace tandem
