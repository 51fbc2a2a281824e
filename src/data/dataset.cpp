// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/dataset.hpp"

#include <cstring>
#include <utility>

#include "tandem/core/check.hpp"

#include "data/indices.hpp"

namespace tandem::datasets {
namespace {

std::vector<HostArray> to_arrays(std::span<const Tensor> tensors) {
  std::vector<HostArray> arrays;
  for (const Tensor& x : tensors)
    arrays.push_back(to_host_array(x));
  return arrays;
}

HostArray gather_rows(const HostArray& source, std::span<const std::int64_t> indices) {
  Shape shape = source.shape;
  const std::size_t row =
      shape[0] == 0 ? 0 : source.bytes.size() / static_cast<std::size_t>(shape[0]);
  shape[0] = static_cast<std::int64_t>(indices.size());
  HostArray out(source.dtype, shape);
  if (row == 0) return out;
  std::byte* target = out.bytes.data();
  for (const std::int64_t i : indices) {
    std::memcpy(target, source.bytes.data() + static_cast<std::size_t>(i) * row, row);
    target += row;
  }
  return out;
}

}  // namespace

TensorDataset::TensorDataset(std::vector<HostArray> arrays) : arrays_(std::move(arrays)) {
  TANDEM_CHECK(!arrays_.empty(), "TensorDataset: needs at least one tensor");
  for (const HostArray& a : arrays_) {
    TANDEM_CHECK(!a.shape.empty(), "TensorDataset: a scalar has no dimension that counts samples");
    TANDEM_CHECK(a.shape[0] == size(),
                 "TensorDataset: the first dimensions differ: ",
                 arrays_.front().shape,
                 " and ",
                 a.shape);
  }
}

TensorDataset::TensorDataset(std::span<const Tensor> tensors) : TensorDataset(to_arrays(tensors)) {}

std::vector<HostArray> TensorDataset::get(std::span<const std::int64_t> indices) const {
  check_indices(indices, size());
  std::vector<HostArray> parts;
  for (const HostArray& a : arrays_)
    parts.push_back(gather_rows(a, indices));
  return parts;
}

}  // namespace tandem::datasets
