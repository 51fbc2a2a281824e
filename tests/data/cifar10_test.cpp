// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/cifar10.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/data/data_loader.hpp"

#include "io/temp_dir.hpp"

namespace tandem::datasets {
namespace {

using tandem::testing::file_error;
using tandem::testing::put;
using tandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kSamples = 3;  // of a file
constexpr int kRecord = 3073;

/// Bytes that tell file, sample and position.
std::uint8_t byte(int file, int sample, int position) {
  return static_cast<std::uint8_t>(file * 31 + sample * 7 + position * 13 + position / 256);
}

std::string records(int file) {
  std::string all;
  for (int i = 0; i < kSamples; ++i) {
    all += static_cast<char>((file + i) % 10);
    for (int p = 0; p < kRecord - 1; ++p)
      all += static_cast<char>(byte(file, i, p));
  }
  return all;
}

void put_all(const TempDir& dir) {
  for (int i = 1; i <= 5; ++i)
    put(dir.file("data_batch_" + std::to_string(i) + ".bin"), records(i));
  put(dir.file("test_batch.bin"), records(6));
}

Cifar10Options small(Augmentation augmentation = Augmentation::none) {
  return {.dtype = DType::f64, .augmentation = augmentation, .samples_per_file = kSamples};
}

TEST(Cifar10Test, ReadsImagesAndLabelsOfAllFiles) {
  const TempDir dir;
  put_all(dir);
  const Cifar10Dataset train(dir.path().string(), Split::train, small()),
      test(dir.path().string(), Split::test, small());
  EXPECT_EQ(train.size(), 15);
  EXPECT_EQ(test.size(), 3);
  const std::vector<std::int64_t> indices{14, 0, 4};  // of files 5, 1, 2
  const std::vector<HostArray> parts = train.get(indices);
  EXPECT_EQ(parts[0].shape, (Shape{3, 3, 32, 32}));
  EXPECT_THAT(parts[1].values<std::int64_t>(), ::testing::ElementsAre(7, 1, 3));
  const auto x = parts[0].values<double>();
  const Cifar10Options o;
  for (const int p : {0, 31, 1023, 1024, 2048, 3071}) {
    const auto c = static_cast<std::size_t>(p / 1024);
    EXPECT_DOUBLE_EQ(x[static_cast<std::size_t>(2 * 3072 + p)],
                     (byte(2, 1, p) / 255.0 - o.mean[c]) / o.stddev[c])
        << p;
  }
  EXPECT_THROW(test.get(std::vector<std::int64_t>{3}), InvalidArgument);
}

TEST(Cifar10Test, AugmentationIsACropAndAFlipThatEpochAndSampleDecide) {
  const TempDir dir;
  put_all(dir);
  const Cifar10Dataset plain(dir.path().string(), Split::train, small()),
      set(dir.path().string(), Split::train, small(Augmentation::crop_flip));
  std::vector<std::int64_t> all(15);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::int64_t>(i);
  const auto original = plain.get(all), first = set.get_in_epoch(all, 0);
  const auto x = original[0].values<double>();
  const std::vector<double> as_read(x.begin(), x.end());
  const auto values = [](const std::vector<HostArray>& parts) {
    const auto v = parts[0].values<double>();
    return std::vector<double>(v.begin(), v.end());
  };
  EXPECT_EQ(values(set.get(all)), as_read);
  EXPECT_EQ(values(set.get_in_epoch(all, 0)), values(first));
  EXPECT_NE(values(set.get_in_epoch(all, 1)), values(first));
  const std::vector<double> y = values(first);
  EXPECT_EQ(values(set.get_in_epoch(std::vector<std::int64_t>{4}, 0)),
            std::vector<double>(y.begin() + 4 * 3072, y.begin() + 5 * 3072))
      << "whatever the batch";

  // Each image is one of the crops: find it.
  const Cifar10Options o;
  const auto black = [&](std::int64_t c) {
    return -o.mean[static_cast<std::size_t>(c)] / o.stddev[static_cast<std::size_t>(c)];
  };
  int found = 0, flips = 0;
  for (std::int64_t i = 0; i < 15; ++i) {
    for (std::int64_t k = 0; k < 2 * 81; ++k) {
      const std::int64_t top = k % 9 - 4, left = k / 9 % 9 - 4;
      const bool flip = k >= 81;
      bool same = true;
      for (std::int64_t p = 0; same && p < 3072; ++p) {
        const std::int64_t c = p / 1024, row = p / 32 % 32 + top,
                           column = (flip ? 31 - p % 32 : p % 32) + left;
        const bool inside = row >= 0 && row < 32 && column >= 0 && column < 32;
        const double wanted =
            inside ? as_read[static_cast<std::size_t>(i * 3072 + c * 1024 + row * 32 + column)]
                   : black(c);
        same = y[static_cast<std::size_t>(i * 3072 + p)] == wanted;
      }
      if (same) ++found, flips += flip ? 1 : 0;
    }
  }
  EXPECT_EQ(found, 15);
  EXPECT_GT(flips, 2);
  EXPECT_LT(flips, 13);
}

TEST(Cifar10Test, ALoaderShowsEachEpochItsOwnCrops) {
  const TempDir dir;
  put_all(dir);
  const auto set = std::make_shared<const Cifar10Dataset>(
      dir.path().string(), Split::train, small(Augmentation::crop_flip));
  DataLoader loader(set, {.batch_size = 15});
  std::vector<std::vector<double>> epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    epochs.push_back(loader.next()->at(0).to_doubles());
    EXPECT_FALSE(loader.next().has_value());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  loader.seek({.epoch = 1, .batch = 0});
  EXPECT_EQ(loader.next()->at(0).to_doubles(), epochs[1]) << "a run can go on anywhere";
}

TEST(Cifar10Test, ErrorsNameTheFileAndBothSizes) {
  const TempDir dir;
  put_all(dir);
  const auto load = [&] { Cifar10Dataset(dir.path().string(), Split::train, small()); };
  put(dir.file("data_batch_3.bin"), records(3).substr(0, 9000));
  FileError e = file_error(load);
  EXPECT_EQ(e.path(), dir.file("data_batch_3.bin"));
  EXPECT_THAT(e.what(), AllOf(HasSubstr("9000 bytes"), HasSubstr("9219")));
  std::string wrong = records(3);
  wrong[kRecord] = 10;
  put(dir.file("data_batch_3.bin"), wrong);
  e = file_error(load);
  EXPECT_EQ(e.offset(), kRecord);
  EXPECT_THAT(e.what(), HasSubstr("label 10 of sample 1"));
  std::filesystem::remove(dir.file("data_batch_3.bin"));
  e = file_error(load);
  EXPECT_EQ(e.path(), dir.file("data_batch_3.bin"));
  EXPECT_THAT(e.what(), AllOf(HasSubstr("no such file"), HasSubstr("TANDEM_DATA_DIR")));
  EXPECT_THAT(file_error([&] { load_cifar10(Split::test, {.dir = dir.path().string()}); }).what(),
              AllOf(HasSubstr("9219 bytes"), HasSubstr("30730000")));
  EXPECT_THROW(Cifar10Dataset(dir.path().string(), Split::test, {.stddev = {1, 0, 1}}),
               InvalidArgument);
  EXPECT_THROW(Cifar10Dataset(dir.path().string(), Split::test, {.dtype = DType::f16}),
               InvalidArgument);
}

}  // namespace
}  // namespace tandem::datasets
