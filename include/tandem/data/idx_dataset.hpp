// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace tandem::datasets
