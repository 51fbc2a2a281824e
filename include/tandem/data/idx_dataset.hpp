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
/// A batch of n samples is {images (n, 1, height, width), labels (n) of i64}. Holds the images as
/// bytes.
class IdxDataset : public Dataset {
 public:
  /// @param images, labels  paths; plain or gzip.
  /// @throws FileError        as read_idx; not u8 of 3 and 1 dimensions; no samples; counts that
  ///                          differ; a label that is no class, with its offset (in the inflated
  ///                          data).
  /// @throws InvalidArgument  options out of range.
  IdxDataset(const std::string& images,
             const std::string& labels,
             const ImageOptions& options = {});

  std::int64_t size() const override { return images_.shape[0]; }
  /// @throws InvalidArgument  an index outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;

  /// Number of classes.
  std::int64_t classes() const noexcept { return options_.classes; }
  /// (1, height, width).
  Shape sample_shape() const { return {1, images_.shape[1], images_.shape[2]}; }

 private:
  HostArray images_;
  HostArray labels_;
  ImageOptions options_;
};

/// The part of a data set that is trained on, or the part that measures.
enum class Split : std::uint8_t { train, test };

/// Which files of a known data set are read, and to what.
struct LoadOptions {
  /// Directory of the four IDX files; empty for the default place.
  std::string dir = {};
  DType dtype = DType::f32;
};

/// Fashion-MNIST: 60,000 + 10,000 images of clothing, 28 x 28, ten classes, scaled to mean 0 and
/// deviation 1.
///
/// Default place: `$TANDEM_DATA_DIR/fashion-mnist`, else Debian's package dataset-fashion-mnist.
/// @throws FileError  it is not there (the text names the path and the package); the test's images
///                    are of another size than those to train on; TANDEM_DATA_DIR names no
///                    directory; or as IdxDataset.
std::shared_ptr<const IdxDataset> load_fashion_mnist(Split split, const LoadOptions& options = {});

/// 1,437 + 360 handwritten digits, 8 x 8, ten classes, scaled to mean 0 and deviation 1: small, and
/// part of tandem.
///
/// Default place: `$TANDEM_DATA_DIR/digits`, else in the installation of the running program or of
/// the library, wherever it was put, else tandem's sources.
/// @throws FileError  as load_fashion_mnist.
std::shared_ptr<const IdxDataset> load_digits(Split split, const LoadOptions& options = {});

}  // namespace tandem::datasets
