// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/known_datasets.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/idx.hpp"

#include "data/data_directories.hpp"

namespace tandem::datasets {
namespace {

namespace fs = std::filesystem;

/// A data set with MNIST's file names: where it may be, and how its bytes are scaled.
struct Known {
  const char* name;
  std::vector<fs::path> directories;
  double mean;
  double stddev;
  const char* remedy;
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// The first of `directories` that holds any of the data set's files.
fs::path find_directory(const Known& known) {
  for (const fs::path& directory : known.directories) {
    if (is_file(directory / "train-images-idx3-ubyte") ||
        is_file(directory / "train-images-idx3-ubyte.gz"))
      return directory;
  }
  std::string tried;
  for (const fs::path& directory : known.directories)
    tried += (tried.empty() ? "" : ", ") + directory.string();
  throw FileError(known.directories.back().string(),
                  -1,
                  std::string("the data set ") + known.name + " was not found (looked in " + tried +
                      "); " + known.remedy);
}

std::string find_file(const fs::path& dir, const std::string& name, const Known& known) {
  const fs::path plain = dir / name;
  const fs::path packed = dir / (name + ".gz");
  if (is_file(plain)) return plain.string();
  if (is_file(packed)) return packed.string();
  throw FileError(
      packed.string(), -1, std::string("no such file, with or without .gz; ") + known.remedy);
}

/// Images that are tested with are of the size of those that were trained on.
void check_size(const IdxDataset& test, const std::string& path, const std::string& train) {
  const Shape size = test.sample_shape();
  Shape trained = read_idx_header(train).shape;
  if (!trained.empty()) trained[0] = 1;
  if (trained == size) return;
  throw FileError(path,
                  8,
                  tandem::detail::concat("its images are ",
                                         size,
                                         ", but the training images are ",
                                         trained,
                                         " (",
                                         train,
                                         "); a model takes images of one size only"));
}

std::shared_ptr<const IdxDataset> load(Known known, Split split, const LoadOptions& options) {
  if (!options.dir.empty()) known.directories = {options.dir};
  const fs::path dir = find_directory(known);
  const std::string part = split == Split::train ? "train" : "t10k";
  const std::string images = find_file(dir, part + "-images-idx3-ubyte", known);
  auto set = std::make_shared<const IdxDataset>(
      images,
      find_file(dir, part + "-labels-idx1-ubyte", known),
      ImageOptions{.dtype = options.dtype, .mean = known.mean, .stddev = known.stddev});
  if (split == Split::test)
    check_size(*set, images, find_file(dir, "train-images-idx3-ubyte", known));
  return set;
}

}  // namespace

std::shared_ptr<const IdxDataset> load_fashion_mnist(Split split, const LoadOptions& options) {
  return load(
      {.name = "fashion-mnist",
       .directories = data_directories("fashion-mnist", {"/usr/share/datasets/fashion-mnist"}),
       .mean = 0.2860,
       .stddev = 0.3530,
       .remedy = "install Debian's package dataset-fashion-mnist (apt-get install "
                 "dataset-fashion-mnist), pass the directory of its files, or set TANDEM_DATA_DIR "
                 "to the directory above it"},
      split,
      options);
}

std::shared_ptr<const IdxDataset> load_digits(Split split, const LoadOptions& options) {
  return load({.name = "digits",
               .directories = data_directories("digits", shipped_directories("digits")),
               .mean = 0.3054,
               .stddev = 0.3753,
               .remedy = "pass the directory of its files (tandem's sources hold them in "
                         "examples/data/digits), or set TANDEM_DATA_DIR to the directory above it"},
              split,
              options);
}

}  // namespace tandem::datasets
