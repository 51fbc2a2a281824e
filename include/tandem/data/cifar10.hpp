// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/data/dataset.hpp"
#include "tandem/data/idx_dataset.hpp"

namespace tandem::datasets {

/// What happens to images of a training set before they are seen.
enum class Augmentation : std::uint8_t {
  none,
  crop_flip,  ///< a crop from the image with a black border, and a flip in every other image
};

/// How CIFAR-10's bytes become numbers: x = (byte / 255 - mean) / stddev, by channel.
struct Cifar10Options {
  DType dtype = DType::f32;  ///< f32 or f64
  std::array<double, 3> mean{0.4914, 0.4822, 0.4465};
  std::array<double, 3> stddev{0.2470, 0.2435, 0.2616};
  Augmentation augmentation = Augmentation::none;
  std::int64_t border = 4;  ///< pixels, of crop_flip
  std::uint64_t seed = 0;   ///< of crop_flip: with epoch and sample it says which crop
  std::int64_t samples_per_file = 10'000;
};

/// Colour images of 32 x 32 in ten classes from the binary version of CIFAR-10.
///
/// A batch of n samples is {images (n, 3, 32, 32), labels (n) of i64}. Holds the images as bytes.
/// @source Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
class Cifar10Dataset : public Dataset {
 public:
  /// @param dir  folder of data_batch_1.bin to data_batch_5.bin (train) and test_batch.bin (test).
  /// @throws FileError        a file is missing or has another size; a label above 9, with its
  ///                          offset.
  /// @throws InvalidArgument  options out of range.
  Cifar10Dataset(const std::string& dir, Split split, const Cifar10Options& options = {});

  std::int64_t size() const override { return size_; }
  /// The samples as they stand in the files. @throws InvalidArgument  an index outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;
  /// With the augmentation of that epoch.
  std::vector<HostArray> get_in_epoch(std::span<const std::int64_t> indices,
                                      std::int64_t epoch) const override;

  /// Number of classes.
  std::int64_t classes() const noexcept { return 10; }
  /// (3, 32, 32).
  Shape sample_shape() const { return {3, 32, 32}; }

 private:
  struct View;
  std::vector<HostArray> stack(std::span<const std::int64_t> indices,
                               const std::vector<View>& views) const;

  Cifar10Options options_;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> records_;  // of a label and 3 * 32 * 32 bytes each
};

/// CIFAR-10, scaled to mean 0 and deviation 1; the training part is augmented with crop_flip.
///
/// Default place: `$TANDEM_DATA_DIR/cifar10`. @throws FileError  as Cifar10Dataset.
std::shared_ptr<const Cifar10Dataset> load_cifar10(Split split, const LoadOptions& options = {});

}  // namespace tandem::datasets
