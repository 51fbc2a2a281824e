// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The range of bytes [first, second) of its buffer within which `x` lies.
inline std::pair<std::size_t, std::size_t> byte_range(const Tensor& x) {
  const TensorImpl& impl = x.impl();
  if (x.numel() == 0) {
    const std::size_t begin = static_cast<std::size_t>(impl.offset) * itemsize(impl.dtype);
    return {begin, begin};
  }
  std::int64_t last = impl.offset;  // of the last element, in elements
  for (int d = 0; d < impl.shape.size(); ++d)
    last += (impl.shape[d] - 1) * impl.strides[d];
  const std::size_t size = itemsize(impl.dtype);
  return {static_cast<std::size_t>(impl.offset) * size, static_cast<std::size_t>(last + 1) * size};
}

/// The number of writes so far to `x` and to tensors that share its part of the storage.
inline std::uint64_t version_of(const Tensor& x) {
  if (!x.buffer().counts_parts()) return x.buffer().version();
  const auto [begin, end] = byte_range(x);
  return x.buffer().version(begin, end);
}

/// The access of work that touches all of `x`.
inline Access access(const Tensor& x, Direction direction) {
  Access result{&x.buffer(), x.nbytes(), direction};
  const bool counts = direction != Direction::read && x.buffer().counts_parts();
  if (counts || x.buffer().transits().any()) [[unlikely]]
    std::tie(result.begin, result.end) = byte_range(x);
  return result;
}

/// The accesses of work that reads `inputs` and writes `outputs`. Undefined tensors are skipped.
inline AccessList accesses(std::initializer_list<Tensor> inputs,
                           std::initializer_list<Tensor> outputs) {
  AccessList list;
  for (const Tensor& x : inputs) {
    if (x.defined()) list.add(access(x, Direction::read));
  }
  for (const Tensor& y : outputs) {
    if (y.defined()) list.add(access(y, Direction::write));
  }
  return list;
}

/// The record of a piece of work on tensors. Its `dtype` is that of the first output.
inline Work make_work(Work::Kind kind,
                      const char* name,
                      std::initializer_list<Tensor> inputs,
                      std::initializer_list<Tensor> outputs,
                      double flops = 0,
                      Mnk mnk = {}) {
  Work work{kind, name, DType::f32, mnk, flops, accesses(inputs, outputs)};
  if (outputs.size() > 0 && outputs.begin()->defined()) work.dtype = outputs.begin()->dtype();
  return work;
}

/// The same work, whose kernel takes workspace.
inline Work with_workspace(Work work) {
  work.takes_workspace = true;
  return work;
}

}  // namespace tandem
