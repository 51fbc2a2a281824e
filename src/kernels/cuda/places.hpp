// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/divisor.hpp"
#include "kernels/map.hpp"

namespace tandem::kernels {

/// Where one element of a plan is in the plan's operands, in elements.
template <int kOperands>
struct Place {
  std::int64_t at[kOperands];
};

/// Where the elements of a plan are in its first `kOperands` operands: the plan as a GPU's kernels
/// read it. They divide by none of its sizes.
template <int kOperands>
class Places {
 public:
  Places() = default;
  explicit Places(const KernelPlan& plan) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(plan.ndim); ++d) {
      if (plan.sizes[d] < 2) continue;
      sizes_[ndim_] = Divisor(plan.sizes[d]);
      for (std::size_t k = 0; k < kOperands; ++k)
        strides_[k][ndim_] = plan.strides[k][d];
      ++ndim_;
    }
  }

  /// Between neighbours in the first operand, if they all lie along one dimension; else 0.
  std::int64_t step() const { return ndim_ == 1 ? strides_[0][0] : 0; }
  /// The place of element `i`. An index of 32 bits is for a plan that is narrow: it costs less.
  template <class Index>
  TANDEM_HD Place<kOperands> operator()(Index i) const {
    static_assert(std::is_same_v<Index, std::int64_t> || std::is_same_v<Index, std::uint32_t>);
    Index at[kOperands] = {};
    for (int d = ndim_ - 1; d > 0; --d) {
      const Index rest = sizes_[d].quotient(i);
      step(at, d, i - rest * static_cast<Index>(sizes_[d].value()));
      i = rest;
    }
    step(at, 0, i);
    Place<kOperands> place;
    for (int k = 0; k < kOperands; ++k)  // of 32 bits they may be below 0, too
      place.at[k] = static_cast<std::make_signed_t<Index>>(at[k]);
    return place;
  }

 private:
  template <class Index>
  TANDEM_HD void step(Index (&at)[kOperands], int d, Index n) const {
    for (int k = 0; k < kOperands; ++k)
      at[k] += n * static_cast<Index>(strides_[k][d]);
  }

  int ndim_ = 0;
  Divisor sizes_[kMaxDims + 1];
  std::int64_t strides_[kOperands][kMaxDims + 1] = {};
};

/// Elements along lines: all of one line after the other if neighbours of a line are neighbours in
/// memory, else the first elements of all lines, then the second ones.
class LineElements {
 public:
  struct Element {
    std::int64_t line, at;
  };
  /// @param lines, length  not 0. @param step  between the elements of a line, in memory.
  LineElements(std::int64_t lines, std::int64_t length, std::int64_t step)
      : count_(lines * length), along_(step == 1 || lines == 1), inner_(along_ ? length : lines) {}
  std::int64_t count() const { return count_; }
  TANDEM_HD Element operator()(std::int64_t i) const {
    const auto [outer, inner] = inner_.split(i);
    return along_ ? Element{outer, inner} : Element{inner, outer};
  }

 private:
  std::int64_t count_;
  bool along_;
  Divisor inner_;
};

}  // namespace tandem::kernels
