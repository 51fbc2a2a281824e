// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/data/dataset.hpp"

namespace tandem::datasets {

/// How bytes of images become numbers: x = (byte / 255 - mean) / stddev.
struct ImageOptions {
  DType dtype = DType::f32;  ///< f32 or f64
  double mean = 0;
  double stddev = 1;
  std::int64_t classes = 10;  ///< labels are 0 to classes - 1
};

/// Grey images and their labels from a pair of IDX files.
///
/// A batch of n samples is {images (n, 1, height, width), labels (n) of i64}. The images are held
/// as bytes.
class IdxDataset : public Dataset {
 public:
  /// @param images, labels  paths of plain or gzip files
  /// @throws FileError        as read_idx, or if the images are not u8 of 3 dimensions, the labels
  ///                          are not u8 of 1 dimension, there are no samples, the counts differ,
  ///                          or a label is not a class (with its offset in the inflated data).
  /// @throws InvalidArgument  if an option is out of range.
  IdxDataset(const std::string& images,
             const std::string& labels,
             const ImageOptions& options = {});

  std::int64_t size() const override { return images_.shape[0]; }
  /// @throws InvalidArgument  if an index is outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;

  /// The number of classes.
  std::int64_t classes() const noexcept { return options_.classes; }
  /// (1, height, width).
  Shape sample_shape() const { return {1, images_.shape[1], images_.shape[2]}; }

 private:
  HostArray images_;
  HostArray labels_;
  ImageOptions options_;
};

/// The part of a data set: for training, or for measuring.
enum class Split : std::uint8_t { train, test };

/// Where a known data set is read from, and into which dtype.
struct LoadOptions {
  /// The directory of the data set's files; empty for the default directory.
  std::string dir = {};
  DType dtype = DType::f32;
};

/// Loads Fashion-MNIST: 60,000 + 10,000 images of clothing, 28 x 28, ten classes, scaled to mean 0
/// and standard deviation 1.
///
/// The default directory is `$TANDEM_DATA_DIR/fashion-mnist`, or that of Debian's package
/// dataset-fashion-mnist.
/// @throws FileError  if the data set is missing (the message names the path and the package), the
///                    test images have another size than the training images, TANDEM_DATA_DIR is
///                    not a directory, or as IdxDataset.
std::shared_ptr<const IdxDataset> load_fashion_mnist(Split split, const LoadOptions& options = {});

/// Loads 1,437 + 360 handwritten digits, 8 x 8, ten classes, scaled to mean 0 and standard
/// deviation 1. This small data set is part of tandem.
///
/// The default directory is `$TANDEM_DATA_DIR/digits`, then the one in the installation that the
/// running program or the library belongs to, wherever that is, then the one in tandem's sources.
/// @throws FileError  as load_fashion_mnist.
std::shared_ptr<const IdxDataset> load_digits(Split split, const LoadOptions& options = {});

}  // namespace tandem::datasets
