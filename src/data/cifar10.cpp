// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/cifar10.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"

#include "core/splitmix64.hpp"
#include "data/indices.hpp"

namespace tandem::datasets {
namespace {

using tandem::detail::concat;

constexpr std::int64_t kSide = 32, kChannels = 3, kPlane = kSide * kSide;
constexpr std::int64_t kRecord = 1 + kChannels * kPlane;  // bytes: the label first

constexpr const char* kRemedy =
    "pass the folder that holds data_batch_1.bin to data_batch_5.bin and test_batch.bin of "
    "CIFAR-10's binary version, or set TANDEM_DATA_DIR to the folder above cifar10";

std::vector<std::string> file_names(Split split) {
  if (split == Split::test) return {"test_batch.bin"};
  std::vector<std::string> names;
  for (int i = 1; i <= 5; ++i)
    names.push_back(concat("data_batch_", i, ".bin"));
  return names;
}

/// Appends the records of a file.
void append_file(const std::string& path, std::int64_t samples, std::vector<std::uint8_t>& to) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw FileError(path, -1, concat("no such file; ", kRemedy));
  const FileReader file(path);
  const auto expected = static_cast<std::uint64_t>(samples * kRecord);
  if (file.size() != expected) {
    throw FileError(path,
                    static_cast<std::int64_t>(std::min(file.size(), expected)),
                    concat("has ",
                           file.size(),
                           " bytes, but CIFAR-10's binary version has ",
                           expected,
                           " (",
                           samples,
                           " samples of ",
                           kRecord,
                           "); is the download complete?"));
  }
  const std::size_t before = to.size();
  to.resize(before + expected);
  const std::span<std::uint8_t> added = std::span(to).subspan(before);
  file.read_at(0, std::as_writable_bytes(added));
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::uint8_t label = added[static_cast<std::size_t>(i * kRecord)];
    if (label > 9) {
      throw FileError(path,
                      i * kRecord,
                      concat("label ", static_cast<int>(label), " of sample ", i, " is above 9"));
    }
  }
}

/// Well mixed bits of (seed, epoch, sample), the same on every machine (SplitMix64).
std::uint64_t mix(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
  std::uint64_t z = seed;
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(sample)})
    z = spread_bits(z + kSplitMixStep + word);
  return z;
}

/// What a byte means, by channel.
template <class T>
std::array<std::array<T, 256>, kChannels> tables(const Cifar10Options& options) {
  std::array<std::array<T, 256>, kChannels> all{};
  for (std::size_t c = 0; c < all.size(); ++c) {
    for (std::size_t b = 0; b < 256; ++b) {
      all[c][b] =
          static_cast<T>((static_cast<double>(b) / 255 - options.mean[c]) / options.stddev[c]);
    }
  }
  return all;
}

}  // namespace

/// The part of an image that is seen.
struct Cifar10Dataset::View {
  std::int64_t top = 0, left = 0;  ///< of the crop, counted from the image's corner
  bool flipped = false;

  /// One plane of the image. @param table  what a byte means.
  template <class T>
  void copy(const std::uint8_t* plane, const std::array<T, 256>& table, T* to) const {
    for (std::int64_t y = top; y < top + kSide; ++y) {
      for (std::int64_t i = 0; i < kSide; ++i) {
        const std::int64_t x = left + (flipped ? kSide - 1 - i : i);
        const bool inside = y >= 0 && y < kSide && x >= 0 && x < kSide;
        *to++ = table[inside ? plane[y * kSide + x] : 0];
      }
    }
  }
};

Cifar10Dataset::Cifar10Dataset(const std::string& dir, Split split, const Cifar10Options& options)
    : options_(options) {
  TANDEM_CHECK(options.dtype == DType::f32 || options.dtype == DType::f64,
               "Cifar10Dataset: dtype must be f32 or f64, got ",
               options.dtype,
               "; convert the batches instead");
  TANDEM_CHECK(std::ranges::all_of(options.stddev, [](double d) { return d > 0; }),
               "Cifar10Dataset: every stddev must be above zero, got ",
               options.stddev[0],
               ", ",
               options.stddev[1],
               ", ",
               options.stddev[2]);
  TANDEM_CHECK(options.border >= 0 && options.border <= kSide && options.samples_per_file > 0,
               "Cifar10Dataset: needs a border of 0 to ",
               kSide,
               " pixels and at least one sample in each file, got ",
               options.border,
               " and ",
               options.samples_per_file);
  for (const std::string& name : file_names(split)) {
    append_file((std::filesystem::path(dir) / name).string(), options.samples_per_file, records_);
  }
  size_ = static_cast<std::int64_t>(records_.size()) / kRecord;
}

std::vector<HostArray> Cifar10Dataset::get(std::span<const std::int64_t> indices) const {
  return stack(indices, std::vector<View>(indices.size()));
}

std::vector<HostArray> Cifar10Dataset::get_in_epoch(std::span<const std::int64_t> indices,
                                                    std::int64_t epoch) const {
  std::vector<View> views(indices.size());
  if (options_.augmentation == Augmentation::crop_flip) {
    const auto places = static_cast<std::uint64_t>(2 * options_.border + 1);
    std::ranges::transform(indices, views.begin(), [&](std::int64_t i) {
      const std::uint64_t bits = mix(options_.seed, epoch, i);
      return View{static_cast<std::int64_t>((bits >> 1) % places) - options_.border,
                  static_cast<std::int64_t>((bits >> 32) % places) - options_.border,
                  (bits & 1) != 0};
    });
  }
  return stack(indices, views);
}

std::vector<HostArray> Cifar10Dataset::stack(std::span<const std::int64_t> indices,
                                             const std::vector<View>& views) const {
  check_indices(indices, size_);
  const auto n = static_cast<std::int64_t>(indices.size());
  std::vector<HostArray> parts{HostArray(options_.dtype, {n, kChannels, kSide, kSide}),
                               HostArray(DType::i64, {n})};
  std::int64_t* label = parts[1].values<std::int64_t>().data();
  with_float(options_.dtype, [&]<class T>() {
    const auto table = tables<T>(options_);
    T* to = parts[0].values<T>().data();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint8_t* record = records_.data() + indices[i] * kRecord;
      *label++ = *record++;
      for (std::int64_t c = 0; c < kChannels; ++c, to += kPlane)
        views[i].copy(record + c * kPlane, table[static_cast<std::size_t>(c)], to);
    }
  });
  return parts;
}

std::shared_ptr<const Cifar10Dataset> load_cifar10(Split split, const LoadOptions& options) {
  std::string dir = options.dir;
  if (dir.empty()) {
    const char* const root = std::getenv("TANDEM_DATA_DIR");
    if (root == nullptr || *root == '\0')
      throw FileError("cifar10", -1, concat("tandem does not come with CIFAR-10; ", kRemedy));
    dir = (std::filesystem::path(root) / "cifar10").string();
  }
  return std::make_shared<const Cifar10Dataset>(
      dir,
      split,
      Cifar10Options{
          .dtype = options.dtype,
          .augmentation = split == Split::train ? Augmentation::crop_flip : Augmentation::none});
}

}  // namespace tandem::datasets
