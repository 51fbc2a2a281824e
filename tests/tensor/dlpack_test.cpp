// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are lent to another library and borrowed from one. The other library is the test.

#include "tandem/tensor/dlpack.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/function.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "foreign_tensor.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::foreign;
using ::testing::HasSubstr;
using testing::Held;
using testing::kForeignF32;
using testing::thrown_text;

const Device kHost{DeviceType::cpu, 0};

struct DtypeRow {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr DtypeRow kDtypes[] = {{DType::f32, kDLFloat, 32},
                                {DType::f64, kDLFloat, 64},
                                {DType::bf16, kDLBfloat, 16},
                                {DType::f16, kDLFloat, 16},
                                {DType::i32, kDLInt, 32},
                                {DType::i64, kDLInt, 64},
                                {DType::u8, kDLUInt, 8},
                                {DType::boolean, kDLBool, 8}};

MemoryStats stats(Device device = kHost) {
  return logical_device(device).memory_stats();
}

std::vector<std::int64_t> shape_of(const DLTensor& t) {
  return {t.shape, t.shape + t.ndim};
}
std::vector<std::int64_t> strides_of(const DLTensor& t) {
  return {t.strides, t.strides + t.ndim};
}

struct DlpackLendTest : testing::HostTest {};
struct DlpackBorrowTest : testing::HostTest {};
struct DlpackTest : testing::HostTest {};

TEST_F(DlpackLendTest, HandsOutTheMemoryOfEveryDtype) {
  for (const DtypeRow& row : kDtypes) {
    const Tensor x = zeros({2, 3}, {.dtype = row.dtype, .device = {DeviceType::cpu, 1}});
    const Held<> held(to_dlpack(x));
    const DLTensor& t = held->dl_tensor;
    EXPECT_EQ(held->version.major, 1u);
    EXPECT_EQ(held->flags, 0u);
    EXPECT_EQ(t.data, x.data());
    EXPECT_EQ(t.byte_offset, 0u);
    EXPECT_EQ(t.device.device_type, kDLCPU);
    EXPECT_EQ(t.device.device_id, 0) << "of a virtual device too";
    EXPECT_EQ(t.dtype.code, row.code) << row.dtype;
    EXPECT_EQ(t.dtype.bits, row.bits) << row.dtype;
    EXPECT_EQ(t.dtype.lanes, 1);
    EXPECT_THAT(shape_of(t), ElementsAre(2, 3));
    EXPECT_THAT(strides_of(t), ElementsAre(3, 1));
    const Held<DLManagedTensor> old(to_dlpack_unversioned(x));
    EXPECT_EQ(old->dl_tensor.data, x.data());
    EXPECT_EQ(old->dl_tensor.dtype.code, row.code);
    EXPECT_THAT(strides_of(old->dl_tensor), ElementsAre(3, 1));
  }
}

void expect_lends(const Tensor& view, const Strides& strides) {
  const Held<> held(to_dlpack(view));
  const DLTensor& t = held->dl_tensor;
  EXPECT_EQ(t.data, view.data());
  EXPECT_EQ(Shape(std::span<const std::int64_t>(shape_of(t))), view.shape());
  EXPECT_EQ(Strides(std::span<const std::int64_t>(strides_of(t))), strides);
}

TEST_F(DlpackLendTest, HandsOutViews) {
  const Tensor x = arange(0, 24, 1, {.dtype = DType::f32}).reshape({2, 3, 4});
  expect_lends(x.permute({2, 0, 1}), {1, 12, 4});
  expect_lends(x.select(0, 1), {4, 1});
  expect_lends(x.slice(2, {1, 4, 2}), {12, 4, 2});
  expect_lends(x.select(0, 1).select(0, 2).select(0, 3), {});
  expect_lends(x.narrow(2, 1, 1).expand({2, 3, 5}), {12, 4, 0});
  const Held<> offset(to_dlpack(x.narrow(2, 3, 1)));
  EXPECT_EQ(offset->dl_tensor.data, static_cast<float*>(x.data()) + 3);
  const Held<> none(to_dlpack(x.narrow(1, 2, 0)));
  EXPECT_EQ(none->dl_tensor.data, nullptr);
  EXPECT_THAT(shape_of(none->dl_tensor), ElementsAre(2, 0, 4));
}

TEST_F(DlpackLendTest, TheMemoryLivesUntilTheOtherLibraryEndsIt) {
  const std::size_t before = stats().in_use;
  Held<> held;
  {
    const Tensor x = arange(0, 1000, 1, {.dtype = DType::f32});
    held.reset(to_dlpack(x.narrow(0, 500, 500)));
  }
  EXPECT_EQ(stats().in_use, before + 4000);
  EXPECT_EQ(static_cast<float*>(held->dl_tensor.data)[499], 999);
  std::thread([&] { held.reset(); }).join();
  EXPECT_EQ(stats().in_use, before);
}

TEST_F(DlpackLendTest, TheTensorOutlivesTheLoan) {
  const Tensor x = full({3}, 7);
  Held<> held(to_dlpack(x));
  static_cast<float*>(held->dl_tensor.data)[1] = 8;
  EXPECT_TRUE(x.buffer().lending().is_lent());
  std::thread([&] { held.reset(); }).join();
  EXPECT_FALSE(x.buffer().lending().is_lent());
  EXPECT_THAT(x.to_host<float>(), ElementsAre(7, 8, 7));
}

TEST_F(DlpackLendTest, SaysReadOnlyAndCopied) {
  const Tensor x = full({3}, 7);
  const Held<> read_only(to_dlpack(x, {.read_only = true}));
  EXPECT_EQ(read_only->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(read_only->dl_tensor.data, x.data());
  const Held<> copy(to_dlpack(x, {.copy = true}));
  EXPECT_EQ(copy->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
  EXPECT_NE(copy->dl_tensor.data, x.data());
  EXPECT_EQ(static_cast<float*>(copy->dl_tensor.data)[2], 7);
  const Held<DLManagedTensor> old(to_dlpack_unversioned(x, {.copy = true}));
  EXPECT_NE(old->dl_tensor.data, x.data());
}

TEST_F(DlpackLendTest, WaitsForBytesInTransit) {
  const Tensor x = zeros({4});
  const auto add = [&](Transit::Way way, bool& waited) {
    x.buffer().transits().add(
        {.begin = 0, .end = 4, .way = way, .wait = [&waited] { waited = true; }});
  };
  bool in = false;
  bool out = false;
  add(Transit::Way::out, out);
  Held<>(to_dlpack(x, {.read_only = true}));
  EXPECT_FALSE(out) << "both only read";
  add(Transit::Way::in, in);
  Held<>(to_dlpack(x));
  EXPECT_TRUE(in);
  EXPECT_TRUE(out);
}

TEST_F(DlpackLendTest, BackwardRefusesAChangeThatIsTold) {
  const Tensor x = full({2}, 3).requires_grad_();
  const Tensor w = full({2}, 2);
  const Held<> held(to_dlpack(w));
  const Tensor y = mul(x, w).sum();
  static_cast<float*>(held->dl_tensor.data)[0] = 9;
  w.buffer().bump_version();
  EXPECT_THROW(y.backward(), Error);
}

TEST_F(DlpackBorrowTest, SharesTheMemoryOfEveryDtype) {
  for (const DtypeRow& row : kDtypes) {
    std::atomic<int> ends = 0;
    const std::vector<char> bytes(6 * row.bits / 8, 0);
    DLManagedTensorVersioned* const lent =
        foreign(bytes, {row.code, row.bits, 1}, {2, 3}, {3, 1}, ends);
    void* const data = lent->dl_tensor.data;
    {
      Tensor x = from_dlpack(lent, {DeviceType::cpu, 1});
      EXPECT_EQ(x.data(), data);
      EXPECT_EQ(x.dtype(), row.dtype);
      EXPECT_EQ(x.shape(), (Shape{2, 3}));
      EXPECT_TRUE(x.is_contiguous());
      EXPECT_EQ(to_string(x.device()), "cpu:1");
      x.fill_(1);
      EXPECT_EQ(static_cast<char*>(data)[5 * row.bits / 8 + row.bits / 8 - 1],
                static_cast<char*>(x.clone().data())[row.bits / 8 - 1]);
      EXPECT_EQ(x.sum().item(), 6);
      EXPECT_EQ(ends, 0);
    }
    EXPECT_EQ(ends, 1) << row.dtype;
  }
}

const std::vector<float> kSix{0, 1, 2, 3, 4, 5};

TEST_F(DlpackBorrowTest, TakesViews) {
  std::atomic<int> ends = 0;
  const auto values = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    return from_dlpack(foreign(kSix, kForeignF32, shape, strides, ends, 1)).to_doubles();
  };
  EXPECT_THAT(values({3, 2}, {1, 3}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values({2, 2}, {4, 1}), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(values({2, 2}, {0, 5}), ElementsAre(0, 5, 0, 5));
  EXPECT_THAT(values({2, 1}, {5, -7}), ElementsAre(0, 5)) << "what one element has does not matter";
  EXPECT_THAT(values({3, 3}, {1, 1}), ElementsAre(0, 1, 2, 1, 2, 3, 2, 3, 4));
  EXPECT_EQ(ends, 5);
  const Tensor column = from_dlpack(foreign(kSix, kForeignF32, {2, 1}, {3, -7}, ends));
  EXPECT_EQ(column.strides(), (Strides{3, 0}));
  DLManagedTensorVersioned* lent = foreign(kSix, kForeignF32, {2, 3}, {9, 9}, ends);
  lent->dl_tensor.strides = nullptr;
  EXPECT_THAT(from_dlpack(lent).to_doubles(), ElementsAre(0, 1, 2, 3, 4, 5));
  lent = foreign(kSix, kForeignF32, {}, {}, ends, 2);
  lent->dl_tensor.shape = lent->dl_tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(lent).item(), 0);
  DLManagedTensor* const old = foreign<DLManagedTensor>(kSix, kForeignF32, {3}, {2}, ends);
  EXPECT_THAT(from_dlpack(old).to_doubles(), ElementsAre(0, 2, 4));
  EXPECT_EQ(ends, 8) << "the column is still there";
}

TEST_F(DlpackBorrowTest, TakesTensorsWithoutElements) {
  std::atomic<int> ends = 0;
  for (const bool is_null : {false, true}) {
    DLManagedTensorVersioned* const lent = foreign(kSix, kForeignF32, {2, 0, 3}, {-1, 7, 5}, ends);
    if (is_null) lent->dl_tensor.data = nullptr;
    const Tensor x = from_dlpack(lent);
    EXPECT_EQ(x.shape(), (Shape{2, 0, 3}));
    EXPECT_EQ(x.data(), nullptr);
    EXPECT_EQ(x.sum().item(), 0);
    EXPECT_EQ(ends, is_null ? 1 : 0);
  }
  EXPECT_EQ(ends, 2);
}

TEST_F(DlpackBorrowTest, TheLastViewEndsTheLoanOnItsThread) {
  std::atomic<int> ends = 0;
  Tensor x = from_dlpack(foreign(kSix, kForeignF32, {2, 3}, {3, 1}, ends));
  Tensor view = x.select(0, 1);
  x = {};
  EXPECT_EQ(ends, 0);
  EXPECT_THAT(view.to_doubles(), ElementsAre(3, 4, 5));
  std::thread([&] { view = {}; }).join();
  EXPECT_EQ(ends, 1);
}

TEST_F(DlpackBorrowTest, ALoanWithoutDeleterHasNoEnd) {
  std::atomic<int> ends = 0;
  DLManagedTensorVersioned* const lent = foreign(kSix, kForeignF32, {6}, {1}, ends);
  auto* const deleter = std::exchange(lent->deleter, nullptr);
  from_dlpack(lent);
  EXPECT_EQ(ends, 0);
  deleter(lent);
}

TEST_F(DlpackBorrowTest, CountsTheBytesApart) {
  const Device device{DeviceType::cpu, 2};
  const MemoryStats before = stats(device);
  std::atomic<int> ends = 0;
  {
    const Tensor x = from_dlpack(foreign(kSix, kForeignF32, {2, 2}, {4, 1}, ends), device);
    x.buffer().recategorise(Category::input);
    EXPECT_EQ(stats(device).adopted, before.adopted + 24) << "from the first to the last element";
    EXPECT_EQ(stats(device).in_use, before.in_use);
    EXPECT_EQ(stats(device).by_category, before.by_category);
    EXPECT_TRUE(logical_device(device).holdings().empty());
  }
  EXPECT_EQ(stats(device).adopted, before.adopted);
}

TEST_F(DlpackBorrowTest, ReadOnlyMemoryIsNotWrittenTo) {
  std::atomic<int> ends = 0;
  DLManagedTensorVersioned* const lent = foreign(kSix, kForeignF32, {6}, {1}, ends);
  lent->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  Tensor x = from_dlpack(lent);
  const auto expected = HasSubstr(
      "the 24 bytes on cpu:0 that it writes to are lent by another library for reading only; write "
      "to a clone() of the tensor");
  const Tensor ones = tandem::ones({6});
  EXPECT_THAT(thrown_text([&] { x.fill_(1); }), expected);
  EXPECT_THAT(thrown_text([&] { x.add_(ones); }), expected);
  EXPECT_THAT(thrown_text([&] { x.copy_(ones); }), expected);
  EXPECT_THAT(thrown_text([&] { x.copy_(ones.to({DeviceType::cpu, 1})); }), expected);
  EXPECT_THAT(thrown_text([&] { x.narrow(0, 0, 1).mul_(2); }), expected);
  EXPECT_THAT(thrown_text([&] { write(kSix.data(), x.buffer(), 0, 4); }), expected);
  EXPECT_EQ(x.buffer().version(), 0u);
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(x.clone().fill_(1).sum().item(), 6);
  EXPECT_EQ(Held<>(to_dlpack(x))->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(Held<>(to_dlpack(x, {.copy = true}))->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
  EXPECT_THAT(thrown_text([&] { to_dlpack_unversioned(x); }), HasSubstr("use to_dlpack, or lend"));
  EXPECT_NE(Held<DLManagedTensor>(to_dlpack_unversioned(x, {.copy = true})), nullptr);
}

/// An op whose gradient comes from another library.
struct ForeignGradient {
  static std::atomic<int> ends;
  static Tensor forward(autograd::FunctionContext&, const Tensor& x) { return x.clone(); }
  static autograd::Gradients backward(autograd::FunctionContext&, const Tensor&) {
    DLManagedTensorVersioned* const lent = foreign(kSix, kForeignF32, {6}, {1}, ends);
    lent->flags = DLPACK_FLAG_BITMASK_READ_ONLY;  // so that a write is seen
    return {from_dlpack(lent)};
  }
};
std::atomic<int> ForeignGradient::ends = 0;

TEST_F(DlpackBorrowTest, AGradientIsNeitherKeptNorAddedTo) {
  const Tensor x = zeros({6}).requires_grad_();
  add(autograd::apply<ForeignGradient>(x), autograd::apply<ForeignGradient>(x)).sum().backward();
  EXPECT_THAT(x.grad().to_doubles(), ElementsAre(0, 2, 4, 6, 8, 10));
  const Tensor y = zeros({6}).requires_grad_();
  autograd::apply<ForeignGradient>(y).sum().backward();
  EXPECT_THAT(y.grad().to_doubles(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(ForeignGradient::ends, 3) << "none is kept as the gradient";
}

TEST_F(DlpackTest, ARoundTripSharesTheMemory) {
  std::atomic<int> ends = 0;
  const Tensor x = zeros({2, 3});
  const std::size_t before = stats().in_use;
  {
    Tensor y = from_dlpack(to_dlpack(x.t()));
    y.select(0, 2).fill_(4);
    EXPECT_EQ(stats().in_use, before);
    EXPECT_EQ(y.strides(), (Strides{1, 3}));
  }
  EXPECT_THAT(x.to_doubles(), ElementsAre(0, 0, 4, 0, 0, 4));
  const Tensor z = from_dlpack(foreign(kSix, kForeignF32, {2, 3}, {3, 1}, ends));
  EXPECT_EQ(Held<>(to_dlpack(z))->dl_tensor.data, z.data());
}

TEST_F(DlpackTest, ThreadsExchangeOneTensor) {
  const Tensor x = arange(0, 6, 1, {.dtype = DType::f32});
  const std::size_t before = stats().adopted;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([x] {
      for (int i = 0; i < 200; ++i) {
        Tensor y = from_dlpack(to_dlpack(x));
        std::thread([z = std::exchange(y, {})] { EXPECT_EQ(z.sum().item(), 15); }).join();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(stats().adopted, before);
  EXPECT_FALSE(x.buffer().lending().is_lent());
}

TEST_F(DlpackTest, AMillionExchangesLeaveNoByte) {
  constexpr int kExchanges = 1'000'000;
  const Tensor x = zeros({4, 4});
  const MemoryStats before = stats();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kExchanges; ++i)
    from_dlpack(to_dlpack(x));
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  std::cout << "there and back: " << time.count() / kExchanges << " ns\n";
  EXPECT_EQ(stats().in_use, before.in_use);
  EXPECT_EQ(stats().adopted, before.adopted);
  EXPECT_EQ(stats().allocations, before.allocations);
  EXPECT_FALSE(x.buffer().lending().is_lent());
  EXPECT_EQ(x.shared()->buffer.use_count(), 1);
}

}  // namespace
}  // namespace tandem
