// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/index.hpp"
#include "kernels/sort.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// The first position whose entry is bad.
struct FindOutside {
  using Total = std::int64_t;
  static constexpr std::int64_t kNotFound = INT64_MAX;
  Places<1> places;
  const std::int64_t* index;
  std::int64_t low, high, ignored;
  std::int64_t* found;

  struct Run {
    const FindOutside& of;
    Total first;
    struct Entry {
      std::int64_t value, at;
    };
    TANDEM_HD Entry load(std::int64_t i) const { return {of.index[of.places(i).at[0]], i}; }
    template <int kCount>
    TANDEM_HD void add(const Entry (&entries)[kCount]) {
      for (const auto& [value, at] : entries)
        if ((value < of.low || value >= of.high) && value != of.ignored && at < first) first = at;
    }
    TANDEM_HD Total total() const { return first; }
  };
  TANDEM_HD Run run(std::int64_t) const { return {*this, kNotFound}; }
  TANDEM_HD Total join(Total a, Total b) const { return a < b ? a : b; }
  TANDEM_HD void store(std::int64_t, Total first) const {
    *found = first == kNotFound ? -1 : first;
  }
};

template <class T>
struct GatherElement {
  Places<3> places;     // y, index, x without the looked-up dimension
  std::int64_t stride;  // of that dimension
  T* y;
  const std::int64_t* index;
  const T* x;

  TANDEM_HD void operator()(std::int64_t i) const {
    const Place<3> place = places(i);
    y[place.at[0]] = x[place.at[2] + index[place.at[1]] * stride];
  }
};

/// All entries of one line along the dimension: lines do not meet, and the order of additions
/// within one is that of the entries.
template <class T>
struct ScatterLine {
  Places<3> places;  // x, index, y without the dimension
  std::int64_t n, x_step, index_step, y_step;
  const T* x;
  const std::int64_t* index;
  T* y;

  TANDEM_HD void operator()(std::int64_t i) const {
    const Place<3> place = places(i);
    for (std::int64_t k = 0; k < n; ++k) {
      T& to = y[place.at[2] + index[place.at[1] + k * index_step] * y_step];
      to = static_cast<T>(to + x[place.at[0] + k * x_step]);
    }
  }
};

/// Entries of a line that go to one place stand together in `order`; the thread of the first adds
/// up all of them, in their order.
template <class T>
struct ScatterRuns {
  Places<4> places;  // x, index, y, order without the dimension
  Divisor lines;
  std::int64_t n, x_step, index_step, y_step, order_step;
  const T* x;
  const std::int64_t* index;
  T* y;
  const std::int64_t* order;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [first, line] = lines.split(i);
    const Place<4> place = places(line);
    const std::int64_t* const from = order + place.at[3];
    const std::int64_t* const targets = index + place.at[1];
    const std::int64_t target = targets[from[first * order_step] * index_step];
    if (first > 0 && targets[from[(first - 1) * order_step] * index_step] == target) return;
    T& to = y[place.at[2] + target * y_step];
    for (std::int64_t k = first; k < n; ++k) {
      const std::int64_t entry = from[k * order_step];
      if (targets[entry * index_step] != target) return;
      to = static_cast<T>(to + x[place.at[0] + entry * x_step]);
    }
  }
};

/// Fewer lines than this leave most of a GPU idle; longer ones than that pay for being sorted.
constexpr std::int64_t kManyLines = std::int64_t{1} << 16;
constexpr std::int64_t kLongLine = 1024;

/// `index` is the same for all lines along `dim`.
bool is_shared(const View& index, int dim) {
  for (int d = 0; d < index.shape.size(); ++d) {
    if (d != dim && index.shape[d] > 1 && index.strides[d] != 0) return false;
  }
  return true;
}

/// The entries of each line by where they go.
class LineOrder {
 public:
  LineOrder(const CudaStream& s, int dim, const View& index)
      : room_(s.device, is_shared(index, dim) ? index.shape[dim] : index.numel()) {
    constexpr Ranking kAscending{false, false};
    view_ = {room_.data(), DType::i64, index.shape, contiguous_strides(index.shape)};
    if (!is_shared(index, dim)) {
      topk(s, kAscending, dim, index, view_);
      return;
    }
    View line = index;
    for (int d = 0; d < line.shape.size(); ++d) {
      if (d == dim) continue;
      line.shape[d] = 1;
      view_.strides[d] = 0;
    }
    view_.strides[dim] = 1;
    View order = view_;
    order.shape = line.shape;
    topk(s, kAscending, dim, line, order);
  }
  const View& view() const { return view_; }

 private:
  Workspace<std::int64_t> room_;
  View view_;
};

void scatter_add_in_runs(
    const CudaStream& s, int dim, const View& x, const View& index, const View& y) {
  const LineOrder order(s, dim, index);
  const View vx = without_dim(x, dim), vi = without_dim(index, dim),
             vo = without_dim(order.view(), dim);
  View vy = without_dim(y, dim);
  vy.shape = vx.shape;  // lies within y's
  const KernelPlan plan = make_kernel_plan({&vx, &vi, &vy, &vo});
  const std::int64_t n = x.shape[dim];
  with_dtype(y.dtype, [&]<class T>() {
    for_each(s,
             plan.numel * n,
             ScatterRuns<T>{Places<4>(plan),
                            Divisor(plan.numel),
                            n,
                            x.strides[dim],
                            index.strides[dim],
                            y.strides[dim],
                            order.view().strides[dim],
                            x.as<const T>(),
                            index.as<const std::int64_t>(),
                            y.as<T>(),
                            order.view().as<const std::int64_t>()});
  });
}

template <class T>
void gather_bits(const CudaStream& s, int dim, const View& x, const View& index, const View& y) {
  const View source = without_step(x, dim, y.shape);
  const KernelPlan plan = make_kernel_plan({&y, &index, &source});
  for_each(s,
           plan.numel,
           GatherElement<T>{Places<3>(plan),
                            x.strides[dim],
                            y.as<T>(),
                            index.as<const std::int64_t>(),
                            x.as<const T>()});
}

}  // namespace

void find_outside(const CudaStream& s,
                  const View& index,
                  std::int64_t low,
                  std::int64_t high,
                  std::int64_t ignored,
                  const View& found) {
  reduce_each(s,
              1,
              index.numel(),
              Walk::along,
              FindOutside{Places<1>(make_row_major_plan({&index})),
                          index.as<const std::int64_t>(),
                          low,
                          high,
                          ignored,
                          found.as<std::int64_t>()});
}

void gather(const CudaStream& s, int dim, const View& x, const View& index, const View& y) {
  switch (itemsize(x.dtype)) {
    case 1:
      return gather_bits<std::uint8_t>(s, dim, x, index, y);
    case 2:
      return gather_bits<std::uint16_t>(s, dim, x, index, y);
    case 4:
      return gather_bits<std::uint32_t>(s, dim, x, index, y);
    default:
      return gather_bits<std::uint64_t>(s, dim, x, index, y);
  }
}

void scatter_add(const CudaStream& s, int dim, const View& x, const View& index, const View& y) {
  if (x.numel() == 0) return;
  const std::int64_t n = x.shape[dim];
  if (n >= kLongLine && x.numel() / n < kManyLines) return scatter_add_in_runs(s, dim, x, index, y);
  const View vx = without_dim(x, dim), vi = without_dim(index, dim);
  View vy = without_dim(y, dim);
  vy.shape = vx.shape;  // lies within y's
  const KernelPlan plan = make_kernel_plan({&vx, &vi, &vy});
  with_dtype(y.dtype, [&]<class T>() {
    for_each(s,
             plan.numel,
             ScatterLine<T>{Places<3>(plan),
                            x.shape[dim],
                            x.strides[dim],
                            index.strides[dim],
                            y.strides[dim],
                            x.as<const T>(),
                            index.as<const std::int64_t>(),
                            y.as<T>()});
  });
}

}  // namespace tandem::kernels
