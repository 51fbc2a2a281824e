// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/data/idx_dataset.hpp"

namespace tandem::datasets {

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
