// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/data/dataset.hpp"
#include "tandem/data/known_datasets.hpp"

namespace tandem::datasets {

/// How the images of a training set are changed at random before the model sees them.
enum class Augmentation : std::uint8_t {
  none,
  crop_flip,  ///< crop the image with a black border, and flip it with a probability of 1/2
};

/// How CIFAR-10's bytes become numbers: x = (byte / 255 - mean) / stddev, for each channel.
struct Cifar10Options {
  DType dtype = DType::f32;  ///< f32 or f64
  std::array<double, 3> mean{0.4914, 0.4822, 0.4465};
  std::array<double, 3> stddev{0.2470, 0.2435, 0.2616};
  Augmentation augmentation = Augmentation::none;
  std::int64_t border = 4;  ///< width of crop_flip's border in pixels
  std::uint64_t seed = 0;   ///< determines crop and flip, together with epoch and sample
  std::int64_t samples_per_file = 10'000;
};

/// Colour images of 32 x 32 pixels in ten classes, from the binary version of CIFAR-10.
///
/// A batch of n samples is {images (n, 3, 32, 32), labels (n) of i64}. The images are held as
/// bytes.
/// @source Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
class Cifar10Dataset : public Dataset {
 public:
  /// @param dir  the folder of data_batch_1.bin to data_batch_5.bin (train) and of test_batch.bin
  ///             (test)
  /// @throws FileError        if a file is missing or has another size, or a label is above 9 (with
  ///                          its offset).
  /// @throws InvalidArgument  if an option is out of range.
  Cifar10Dataset(const std::string& dir, Split split, const Cifar10Options& options = {});

  std::int64_t size() const override { return size_; }
  /// The samples without augmentation.
  ///
  /// @throws InvalidArgument  if an index is outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;
  /// The samples with the augmentation of this epoch.
  std::vector<HostArray> get_in_epoch(std::span<const std::int64_t> indices,
                                      std::int64_t epoch) const override;

  /// The number of classes.
  std::int64_t classes() const noexcept { return 10; }
  /// (3, 32, 32).
  Shape sample_shape() const { return {3, 32, 32}; }

 private:
  struct View;
  std::vector<HostArray> stack(std::span<const std::int64_t> indices,
                               const std::vector<View>& views) const;

  Cifar10Options options_;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> records_;  // each is a label and 3 * 32 * 32 bytes
};

/// Loads CIFAR-10, scaled to mean 0 and standard deviation 1. The training part is augmented with
/// crop_flip. The default directory is `$TANDEM_DATA_DIR/cifar10`.
///
/// @throws FileError  as Cifar10Dataset, or if neither a directory nor TANDEM_DATA_DIR is given.
std::shared_ptr<const Cifar10Dataset> load_cifar10(Split split, const LoadOptions& options = {});

}  // namespace tandem::datasets
