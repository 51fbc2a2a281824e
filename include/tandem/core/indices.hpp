// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>

namespace tandem {

/// The numbers from 0 to below a size, as a range: the indices of a list.
///
/// It is std::views::iota for integers, which clang before 16 cannot compile with libstdc++.
template <std::integral I>
class Indices {
 public:
  class Iterator {
   public:
    using value_type = I;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    constexpr explicit Iterator(I at) noexcept : at_(at) {}
    constexpr I operator*() const noexcept { return at_; }
    constexpr Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    constexpr Iterator operator++(int) noexcept { return Iterator(at_++); }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    I at_ = 0;
  };

  constexpr explicit Indices(I size) noexcept : size_(size) {}
  constexpr Iterator begin() const noexcept { return Iterator(0); }
  constexpr Iterator end() const noexcept { return Iterator(size_); }

 private:
  I size_;
};

}  // namespace tandem
