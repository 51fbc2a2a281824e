// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/gpu_comparison.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>

#include <ATen/ATen.h>

#include "libtorch/gpu/gpu_constant.hpp"
#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/own_call.hpp"

// Note [Digests]: GPUs compare rows of numbers of 32 bits, x_j, by sums of x_j k_j modulo 2^64, so
// that a sum crosses the link in place of a row. The factors k_j are odd and drawn at random. A row
// in which one number differs always has another sum, since an odd factor has an inverse and the
// difference is not a multiple of 2^64. If several differ, the sums are equal for at most one in
// 2^32 choices of the factors.
namespace tandem::libtorch {
namespace {

/// Numbers in a row.
constexpr std::int64_t kRow = 1024;
/// Rows of which sums are made at once: their products take 16 MiB.
constexpr std::int64_t kRows = std::int64_t{2} << 10;
/// Padding between two tensors of an arena, at most.
constexpr std::ptrdiff_t kPadding = 256;

at::Tensor drawn_factors() {
  const at::Tensor factors = at::empty({kRow}, at::kLong);
  std::mt19937_64 draw;  // the same in each process
  for (std::int64_t& k : std::span(factors.mutable_data_ptr<std::int64_t>(), kRow))
    k = static_cast<std::int64_t>(draw() | 1);
  return factors;
}

GpuConstant& row_factors() {
  static GpuConstant& factors = *new GpuConstant(drawn_factors);
  return factors;
}

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
  /// Of the numbers that it is read as: 4 bytes, or 1 where one of the two lies at an odd place.
  DType dtype() const {
    const auto is_at_4 = [](const Bytes& b) {
      return reinterpret_cast<std::uintptr_t>(b.begin) % 4 == 0 && b.nbytes % 4 == 0;
    };
    return is_at_4(x) && is_at_4(y) ? DType::i32 : DType::u8;
  }
};

/// The sums of rows of numbers of which the last one may be shorter, in pieces.
class Digests {
 public:
  void add(const Bytes& all, DType dtype) {
    const auto count = static_cast<std::int64_t>(all.nbytes / itemsize(dtype));
    const at::Tensor factors = row_factors().on(all.gpu);
    for (std::int64_t begin = 0; begin < count;) {
      const std::int64_t rows = std::min(kRows, (count - begin) / kRow);
      const std::int64_t length = rows > 0 ? kRow : count - begin;
      const std::int64_t end = begin + std::max<std::int64_t>(rows, 1) * length;
      const at::Tensor x = range_of_gpu(all.begin, dtype, begin, end, all.gpu).view({-1, length});
      sums_.push_back(x.mul(factors.narrow(0, 0, length)).sum(1));
      begin = end;
    }
  }
  at::Tensor all() const { return sums_.size() == 1 ? sums_.front() : at::cat(sums_); }

 private:
  std::vector<at::Tensor> sums_;
};

/// What is compared between two GPUs.
struct Link {
  Digests x, y;
  std::vector<std::size_t> owners;  // of the rows: which range
};

/// Which ranges differ, with one wait for each pair of GPUs.
std::vector<bool> which_differ(const std::vector<Range>& ranges) {
  std::map<std::pair<int, int>, Link> links;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    const Range& range = ranges[r];
    Link& link = links[{range.x.gpu, range.y.gpu}];
    const DType dtype = range.dtype();
    link.x.add(range.x, dtype);
    link.y.add(range.y, dtype);
    const std::size_t row = static_cast<std::size_t>(kRow) * itemsize(dtype);
    link.owners.insert(link.owners.end(), (range.x.nbytes + row - 1) / row, r);
  }
  std::vector<bool> all(ranges.size());
  for (const auto& [gpus, link] : links) {
    const at::Tensor y = link.y.all();
    const at::Tensor differ = link.x.all().to(y.device(), /*non_blocking=*/true).ne(y).cpu();
    for (std::size_t i = 0; i < link.owners.size(); ++i)
      if (differ.const_data_ptr<bool>()[i]) all[link.owners[i]] = true;
  }
  return all;
}

}  // namespace

void prepare_comparisons(int gpu) {
  const OwnCall own;  // an observer would ask for the device that is being opened
  row_factors().on(gpu);
}

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
