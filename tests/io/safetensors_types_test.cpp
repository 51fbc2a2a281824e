// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Types of the format that tandem does not have: the file is opened, what can be held is read.

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/io/tensor_file.hpp"

#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::file_error;
using ::testing::HasSubstr;
using testing::put;
using testing::TempDir;

/// A file of tensors "x0", "x1", ... that is written as it comes.
class RawFile {
 public:
  template <class T>
  void add(const std::string& type, const std::string& shape, const std::vector<T>& numbers) {
    const std::size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
    header_ += (header_.empty() ? "" : ",") + ("\"x" + std::to_string(count_++)) +
               R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
               std::to_string(begin) + ',' + std::to_string(data_.size()) + "]}";
  }
  void save(const std::string& path) const {
    const std::string text = "{" + header_ + "}";
    const std::uint64_t size = text.size();
    std::string prefix(8, '\0');
    std::memcpy(prefix.data(), &size, 8);
    put(path, prefix + text + data_);
  }

 private:
  std::string header_, data_;
  int count_ = 0;
};

TEST(SafetensorsTypesTest, IntegersAreReadByTheNextThatHoldsThem) {
  const TempDir dir;
  RawFile raw;
  raw.add<std::int8_t>("I8", "[3]", {-128, 0, 127});
  raw.add<std::int16_t>("I16", "[2]", {-32768, 32767});
  raw.add<std::uint16_t>("U16", "[2,1]", {0, 65535});
  raw.add<std::uint32_t>("U32", "[1]", {4294967295});
  raw.add<std::uint64_t>("U64", "[2]", {1, 9223372036854775807});
  raw.save(dir.file("x"));
  const auto tensors = load_safetensors(dir.file("x"));
  EXPECT_THAT(tensors.at("x0").to_host<std::int32_t>(), ElementsAre(-128, 0, 127));
  EXPECT_THAT(tensors.at("x1").to_host<std::int32_t>(), ElementsAre(-32768, 32767));
  EXPECT_THAT(tensors.at("x2").to_host<std::int32_t>(), ElementsAre(0, 65535));
  EXPECT_EQ(tensors.at("x2").shape(), (Shape{2, 1}));
  EXPECT_THAT(tensors.at("x3").to_host<std::int64_t>(), ElementsAre(4294967295));
  EXPECT_THAT(tensors.at("x4").to_host<std::int64_t>(), ElementsAre(1, 9223372036854775807));
  const SafetensorsFile file(dir.file("x"));
  EXPECT_EQ(file.find("x1")->stored, "I16");
  EXPECT_EQ(file.find("x1")->dtype, DType::i32);
}

// The values of PyTorch 2's float8_e4m3fn, float8_e5m2 and float8_e8m0fnu.
TEST(SafetensorsTypesTest, FloatsOfEightBitsAreReadAsF32) {
  const TempDir dir;
  RawFile raw;
  raw.add<std::uint8_t>("F8_E4M3", "[6]", {0x00, 0x01, 0x38, 0x7E, 0xB9, 0x7F});
  raw.add<std::uint8_t>("F8_E5M2", "[6]", {0x80, 0x01, 0x3C, 0x7B, 0xFC, 0x7D});
  raw.add<std::uint8_t>("F8_E8M0", "[3]", {0, 127, 254});
  raw.save(dir.file("x"));
  const auto tensors = load_safetensors(dir.file("x"));
  std::vector<float> x = tensors.at("x0").to_host<float>();
  EXPECT_TRUE(std::isnan(x.back()));
  x.pop_back();
  EXPECT_THAT(x, ElementsAre(0, 0x1p-9F, 1, 448, -1.125F));
  x = tensors.at("x1").to_host<float>();
  EXPECT_TRUE(std::isnan(x.back()) && std::signbit(x.front()));
  x.pop_back();
  EXPECT_THAT(x, ElementsAre(0, 0x1p-16F, 1, 57344, -HUGE_VALF));
  EXPECT_THAT(tensors.at("x2").to_host<float>(), ElementsAre(0x1p-127F, 1, 0x1p127F));
}

TEST(SafetensorsTypesTest, WhatCannotBeReadLeavesTheOthersReadable) {
  const TempDir dir;
  RawFile raw;
  raw.add<float>("C64", "[1]", {1, 2});
  raw.add<std::uint8_t>("F4", "[4]", {0x12, 0x34});
  raw.add<std::uint64_t>("U64", "[1]", {9223372036854775808U});
  raw.add<float>("F32", "[2]", {5, 6});
  raw.save(dir.file("x"));
  const SafetensorsFile file(dir.file("x"));
  EXPECT_THAT(read_tensor(file, *file.find("x3")).to_host<float>(), ElementsAre(5, 6));
  const auto refusal = [&](const char* name) {
    return std::string(file_error([&] { read_tensor(file, *file.find(name)); }).what());
  };
  EXPECT_THAT(refusal("x0"), AllOf(HasSubstr("'x0' is C64"), HasSubstr("it reads F32, F64")));
  EXPECT_THAT(refusal("x1"), HasSubstr("'x1' is F4"));
  EXPECT_THAT(refusal("x2"), HasSubstr("a number of 2^63 or more"));
}

}  // namespace
}  // namespace tandem
