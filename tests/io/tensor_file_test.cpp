// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/tensor_file.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/io/host_array.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "io/sample.hpp"
#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::get;
using ::testing::HasSubstr;
using testing::kSample;
using testing::TempDir;

const Device kFirst{DeviceType::cpu, 0};
const Device kSecond{DeviceType::cpu, 1};

TEST(TensorFileTest, LoadsEveryTypeToTheDeviceThatIsAskedFor) {
  const auto tensors = load_safetensors(kSample, kSecond);
  ASSERT_EQ(tensors.size(), 10u);
  const Tensor& weight = tensors.at("layer.weight");
  EXPECT_EQ(weight.describe(), "f32 (2, 3) on cpu:1");
  EXPECT_THAT(weight.to_host<float>(), ElementsAre(0, 0.25f, 0.5f, 0.75f, 1, 1.25f));
  EXPECT_THAT(tensors.at("mask").to_host<bool>(), ElementsAre(true, false, true));
  EXPECT_THAT(tensors.at("index").to_host<std::int64_t>(),
              ElementsAre(-(std::int64_t{1} << 62), 7));
  EXPECT_EQ(tensors.at("scalar").item(), 2.5);
  EXPECT_EQ(tensors.at("empty").shape(), (Shape{0, 4}));
}

TEST(TensorFileTest, SavedTensorsAreTheReferencesBytes) {
  const TempDir dir;
  save_safetensors(
      dir.file("x"), load_safetensors(kSample, kSecond), SafetensorsFile(kSample).metadata());
  EXPECT_EQ(get(dir.file("x")), get(kSample));
}

TEST(TensorFileTest, StridedTensorsAreWrittenInRowMajorOrder) {
  const TempDir dir;
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const Tensor turned = as_strided(x, {2, 2}, {1, 3}, 1);  // columns of the last four
  save_safetensors(dir.file("x"), {{"turned", turned}});
  EXPECT_THAT(load_safetensors(dir.file("x")).at("turned").to_host<float>(),
              ElementsAre(2, 5, 3, 6));
}

TEST(TensorFileTest, AnUndefinedTensorIsNamedAndTheOldFileStays) {
  const TempDir dir;
  testing::put(dir.file("x"), "old");
  try {
    save_safetensors(dir.file("x"), {{"weight", Tensor()}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("'weight' is undefined"));
  }
  EXPECT_EQ(get(dir.file("x")), "old");
}

TEST(TensorFileTest, ADevicesLimitHoldsAndNothingIsLeftBehind) {
  const TempDir dir;
  save_safetensors(dir.file("x"), {{"big", zeros({1000})}});
  const Device small{DeviceType::cpu, 2};
  logical_device(small).set_limit(2048);
  EXPECT_THROW(load_safetensors(dir.file("x"), small), OutOfMemory);
  EXPECT_EQ(logical_device(small).memory_stats().in_use, 0u);
}

TEST(HostArrayTest, GoesToADeviceAndBack) {
  HostArray array(DType::i32, {2, 2});
  std::ranges::copy(std::vector<std::int32_t>{1, -2, 3, -4}, array.values<std::int32_t>().begin());
  const Tensor x = to_tensor(array, kFirst);
  EXPECT_THAT(x.to_host<std::int32_t>(), ElementsAre(1, -2, 3, -4));
  EXPECT_EQ(to_host_array(x).bytes, array.bytes);
  EXPECT_THROW(array.values<float>(), InvalidArgument);
  EXPECT_THROW(HostArray(DType::f32, {INT64_MAX, 4}), InvalidArgument);
  EXPECT_THROW(HostArray(DType::f32, {-1}), InvalidArgument);
}

}  // namespace
}  // namespace tandem
