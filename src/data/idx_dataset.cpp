// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/idx_dataset.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/idx.hpp"

#include "data/indices.hpp"

namespace tandem::datasets {
namespace {

using tandem::detail::concat;

void check_header(const std::string& path, const IdxHeader& header, int dims, const char* what) {
  if (header.dtype != DType::u8 || header.shape.size() != dims) {
    throw FileError(path,
                    2,
                    concat(what,
                           " must be u8 of ",
                           dims,
                           " dimensions, but the file holds ",
                           header.dtype,
                           ' ',
                           header.shape));
  }
}

/// The images, of which there are as many as labels; both headers are looked at before the images,
/// which may inflate to gigabytes.
HostArray read_images(const std::string& images, const std::string& labels) {
  const IdxHeader header = read_idx_header(images), beside = read_idx_header(labels);
  check_header(images, header, 3, "images");
  check_header(labels, beside, 1, "labels");
  if (beside.shape[0] != header.shape[0]) {
    throw FileError(labels,
                    4,
                    concat("holds ",
                           beside.shape[0],
                           " labels, but there are ",
                           header.shape[0],
                           " images in ",
                           images));
  }
  if (std::ranges::count(header.shape, 0) > 0)
    throw FileError(images, 4, concat("holds no samples: its images are ", header.shape));
  return read_idx(images);
}

/// The `count` images at `indices` from `source`, through a table of the 256 values that a byte can
/// mean.
template <class T>
void convert(const HostArray& source,
             std::span<const std::int64_t> indices,
             const ImageOptions& options,
             HostArray& out) {
  std::array<T, 256> table{};
  for (std::size_t b = 0; b < table.size(); ++b) {
    table[b] = static_cast<T>((static_cast<double>(b) / 255 - options.mean) / options.stddev);
  }
  const std::span<const std::uint8_t> all = source.values<std::uint8_t>();
  const auto size = static_cast<std::size_t>(source.shape[1] * source.shape[2]);
  auto target = out.values<T>().begin();
  for (const std::int64_t i : indices) {
    const auto image = all.subspan(static_cast<std::size_t>(i) * size, size);
    target = std::ranges::transform(image, target, [&](std::uint8_t b) { return table[b]; }).out;
  }
}

}  // namespace

IdxDataset::IdxDataset(const std::string& images,
                       const std::string& labels,
                       const ImageOptions& options)
    : images_(read_images(images, labels)), labels_(read_idx(labels)), options_(options) {
  TANDEM_CHECK(
      options.stddev > 0, "IdxDataset: stddev is ", options.stddev, "; it must be above zero");
  TANDEM_CHECK(options.dtype == DType::f32 || options.dtype == DType::f64,
               "IdxDataset: dtype must be f32 or f64, got ",
               options.dtype,
               "; convert the batches instead");
  const std::span<const std::uint8_t> values = std::as_const(labels_).values<std::uint8_t>();
  const auto bad =
      std::ranges::find_if(values, [&](std::uint8_t v) { return v >= options.classes; });
  if (bad == values.end()) return;
  constexpr std::int64_t kHeader = 8;
  throw FileError(labels,
                  kHeader + (bad - values.begin()),
                  concat("label ",
                         static_cast<int>(*bad),
                         " of sample ",
                         bad - values.begin(),
                         " is not one of 0 to ",
                         options.classes - 1));
}

std::vector<HostArray> IdxDataset::get(std::span<const std::int64_t> indices) const {
  check_indices(indices, size());
  const auto n = static_cast<std::int64_t>(indices.size());
  std::vector<HostArray> parts{
      HostArray(options_.dtype, {n, 1, images_.shape[1], images_.shape[2]}),
      HostArray(DType::i64, {n})};
  with_float(options_.dtype, [&]<class T>() { convert<T>(images_, indices, options_, parts[0]); });
  const std::span<const std::uint8_t> labels = labels_.values<std::uint8_t>();
  std::ranges::transform(indices, parts[1].values<std::int64_t>().begin(), [&](std::int64_t i) {
    return std::int64_t{labels[static_cast<std::size_t>(i)]};
  });
  return parts;
}

}  // namespace tandem::datasets
