// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/gpu_comparison.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include <ATen/ATen.h>

#include "libtorch/gpu/gpu_tensors.hpp"

namespace tandem::libtorch {
namespace {

/// Bytes that are copied to another GPU at once.
constexpr std::size_t kCopied = std::size_t{64} << 20;
/// Padding between two tensors of an arena, at most.
constexpr std::ptrdiff_t kPadding = 256;

struct Bytes {
  const char* begin;
  std::size_t nbytes;
  int gpu;

  const char* end() const { return begin + nbytes; }
};

Bytes bytes_of(const at::Tensor& x) {
  return {static_cast<const char*>(x.const_data_ptr()), x.nbytes(), x.get_device()};
}

struct Range {
  Bytes x, y;

  /// Takes in what comes right behind it, with the padding. @return  false: it comes elsewhere
  bool takes(const Range& next) {
    const std::ptrdiff_t gap = next.x.begin - x.end();
    const bool is_next = next.x.gpu == x.gpu && next.y.gpu == y.gpu && gap >= 0 &&
                         gap <= kPadding && next.y.begin - y.end() == gap;
    if (!is_next) return false;
    x.nbytes = y.nbytes = static_cast<std::size_t>(next.x.end() - x.begin);
    return true;
  }
};

/// Integers over the bytes, of which none is unequal to itself.
at::Tensor words(const Bytes& all, std::size_t begin, std::size_t end) {
  const char* const p = all.begin + begin;
  const bool is_wide = (end - begin) % 8 == 0 && reinterpret_cast<std::uintptr_t>(p) % 8 == 0;
  if (!is_wide) return bytes_of_gpu(p, end - begin, all.gpu);
  return range_of_gpu(p, DType::i64, 0, static_cast<std::int64_t>((end - begin) / 8), all.gpu);
}

/// Queues the comparison of a range. @return  one bool for each of its pieces
std::vector<at::Tensor> compare(const Range& range) {
  std::vector<at::Tensor> differ;
  for (std::size_t begin = 0; begin < range.x.nbytes; begin += kCopied) {
    const std::size_t end = std::min(range.x.nbytes, begin + kCopied);
    const at::Tensor y = words(range.y, begin, end);
    differ.push_back(words(range.x, begin, end).to(y.device(), /*non_blocking=*/true).ne(y).any());
  }
  return differ;
}

/// Which ranges differ, with one wait for each GPU.
std::vector<bool> which_differ(const std::vector<Range>& ranges) {
  std::map<int, std::pair<std::vector<at::Tensor>, std::vector<std::size_t>>> by_gpu;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    auto& [differ, owners] = by_gpu[ranges[r].y.gpu];
    for (at::Tensor& one : compare(ranges[r])) {
      differ.push_back(std::move(one));
      owners.push_back(r);
    }
  }
  std::vector<bool> all(ranges.size());
  for (const auto& [gpu, found] : by_gpu) {
    const auto& [differ, owners] = found;
    const at::Tensor host = (differ.size() == 1 ? differ.front() : at::stack(differ)).cpu();
    for (std::size_t i = 0; i < owners.size(); ++i)
      if (host.const_data_ptr<bool>()[i]) all[owners[i]] = true;
  }
  return all;
}

}  // namespace

void GpuComparison::add(const at::Tensor& x, const at::Tensor& y) {
  pairs_.push_back({x, y, pairs_.size()});
}

std::vector<bool> GpuComparison::differences() const {
  const at::NoGradGuard off;
  std::vector<const Pair*> in_order;
  for (const Pair& pair : pairs_)
    if (pair.x.nbytes() > 0) in_order.push_back(&pair);
  std::ranges::sort(in_order, {}, [](const Pair* p) { return p->x.const_data_ptr(); });
  std::vector<Range> ranges;
  std::vector<std::vector<const Pair*>> members;  // by range
  for (const Pair* const pair : in_order) {
    const Range own{bytes_of(pair->x), bytes_of(pair->y)};
    if (ranges.empty() || !ranges.back().takes(own)) {
      ranges.push_back(own);
      members.emplace_back();
    }
    members.back().push_back(pair);
  }
  std::vector<Range> single;  // of ranges that differ
  std::vector<std::size_t> numbers;
  const std::vector<bool> differ = which_differ(ranges);
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    for (const Pair* const pair : members[r]) {
      if (!differ[r]) continue;
      single.push_back({bytes_of(pair->x), bytes_of(pair->y)});
      numbers.push_back(pair->number);
    }
  }
  std::vector<bool> all(pairs_.size());
  const std::vector<bool> found = which_differ(single);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    all[numbers[k]] = found[k];
  return all;
}

}  // namespace tandem::libtorch
