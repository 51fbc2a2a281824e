// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/share_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tandem::libtorch {
namespace {

using Address = std::int64_t;

struct Dimension {
  std::int64_t size;
  std::int64_t stride;  // bytes
};

/// The bytes of a tensor: dense items at the sums of multiples of strides.
struct Places {
  Address begin = 0;
  std::int64_t item = 0;             // bytes
  std::vector<Dimension> dims = {};  // by stride, the largest last; each has several items
  std::int64_t extent() const {
    std::int64_t bytes = item;
    for (const Dimension& d : dims)
      bytes += (d.size - 1) * d.stride;
    return bytes;
  }
  Address end() const { return begin + extent(); }
};

Places places_of(const at::Tensor& x) {
  const auto itemsize = static_cast<std::int64_t>(x.element_size());
  Places p{reinterpret_cast<Address>(x.const_data_ptr()), itemsize};
  for (std::int64_t d = 0; d < x.dim(); ++d)
    if (x.size(d) > 1 && x.stride(d) > 0) p.dims.push_back({x.size(d), x.stride(d) * itemsize});
  std::ranges::sort(p.dims, {}, &Dimension::stride);
  while (!p.dims.empty() && p.dims.front().stride <= p.item) {  // dense, or over each other
    p.item += (p.dims.front().size - 1) * p.dims.front().stride;
    p.dims.erase(p.dims.begin());
  }
  return p;
}

/// All items of both lie at the same places of a period, apart from each other: columns do.
bool alternate(const Places& a, const Places& b) {
  std::int64_t period = 0;
  for (const Places* const p : {&a, &b})
    for (const Dimension& d : p->dims)
      period = std::gcd(period, d.stride);
  if (period == 0) return false;
  const std::int64_t between = ((b.begin - a.begin) % period + period) % period;
  return between >= a.item && between + b.item <= period;
}

/// The halves along the largest stride.
std::pair<Places, Places> halves(const Places& p) {
  std::pair<Places, Places> two(p, p);
  Dimension &first = two.first.dims.back(), &second = two.second.dims.back();
  first.size /= 2;
  second.size -= first.size;
  two.second.begin += first.size * first.stride;
  for (Places* const half : {&two.first, &two.second})
    if (half->dims.back().size == 1) half->dims.pop_back();
  return two;
}

bool meet(const Places& a, const Places& b) {
  if (a.end() <= b.begin || b.end() <= a.begin || alternate(a, b)) return false;
  if (a.dims.empty() && b.dims.empty()) return true;
  const bool cuts_a = !a.dims.empty() && (b.dims.empty() || a.extent() >= b.extent());
  const auto [first, second] = halves(cuts_a ? a : b);
  const Places& other = cuts_a ? b : a;
  return meet(first, other) || meet(second, other);
}

}  // namespace

std::pair<const std::byte*, const std::byte*> extent_of(const at::Tensor& x) {
  const auto* const begin = static_cast<const std::byte*>(x.const_data_ptr());
  return {begin, begin + places_of(x).extent()};
}

bool share_memory(const at::Tensor& x, const at::Tensor& y) {
  return meet(places_of(x), places_of(y));
}

}  // namespace tandem::libtorch
