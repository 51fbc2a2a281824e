// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/parallel/distributed.hpp"
#include "tandem/parallel/leaf_ops.hpp"
#include "tandem/parallel/scatter_gather.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// Nests of another library's tensors are scattered and gathered as tandem's are.
namespace tandem::parallel::test {

/// The other library's tensor: values on a device, in row-major order. A copy shares its data.
struct Grid {
  struct Data {
    std::vector<std::int64_t> sizes;
    std::vector<double> values;
    Device device;
    bool whole_numbers;
  };
  std::shared_ptr<const Data> data;

  /// The product of the sizes from `first` to before `last`.
  std::int64_t product(std::size_t first, std::size_t last) const {
    const auto begin = data->sizes.begin();
    return std::accumulate(begin + static_cast<std::ptrdiff_t>(first),
                           begin + static_cast<std::ptrdiff_t>(last),
                           std::int64_t{1},
                           std::multiplies<>());
  }
};

Grid grid(std::vector<std::int64_t> sizes,
          std::vector<double> values,
          Device device = {},
          bool whole_numbers = false) {
  return {std::make_shared<Grid::Data>(
      Grid::Data{std::move(sizes), std::move(values), device, whole_numbers})};
}

}  // namespace tandem::parallel::test

template <>
inline constexpr bool tandem::is_foreign_tensor<tandem::parallel::test::Grid> = true;

namespace tandem::parallel {

template <>
struct LeafOps<test::Grid> {
  using Grid = test::Grid;
  static bool defined(const Grid& x) noexcept { return x.data != nullptr; }
  static int ndim(const Grid& x) { return static_cast<int>(x.data->sizes.size()); }
  static std::size_t place(const Grid& x, int dim) {
    return static_cast<std::size_t>(dim < 0 ? dim + ndim(x) : dim);
  }
  static std::int64_t size(const Grid& x, int dim) { return x.data->sizes[place(x, dim)]; }
  static std::size_t nbytes(const Grid& x) { return x.data->values.size() * sizeof(double); }
  static bool is_float(const Grid& x) { return !x.data->whole_numbers; }
  static bool same_dtype(const Grid& a, const Grid& b) { return is_float(a) == is_float(b); }
  static bool is_on(const Grid& x, Device device) { return x.data->device == device; }
  static std::string device_name(const Grid& x) { return to_string(x.data->device); }
  static std::string describe(const Grid& x) {
    std::string text = "grid";
    for (const std::int64_t n : x.data->sizes)
      text += " " + std::to_string(n);
    return text + " on " + device_name(x);
  }

  static Grid narrow(const Grid& x, int dim, std::int64_t start, std::int64_t length) {
    const std::size_t d = place(x, dim), n = x.data->sizes.size();
    const std::int64_t inner = x.product(d + 1, n), all = x.product(d, n);
    std::vector<double> values;
    for (std::int64_t o = 0; o < x.product(0, d); ++o) {
      const auto row = x.data->values.begin() + o * all + start * inner;
      values.insert(values.end(), row, row + length * inner);
    }
    auto sizes = x.data->sizes;
    sizes[d] = length;
    return test::grid(sizes, values, x.data->device, x.data->whole_numbers);
  }
  static Grid to(const Grid& x, Device device, NonBlocking /*non_blocking*/) {
    if (x.data->device == device) return x;
    return test::grid(x.data->sizes, x.data->values, device, x.data->whole_numbers);
  }
  static std::vector<Grid> all_to(const std::vector<Grid>& parts, Device device) {
    std::vector<Grid> here;
    for (const Grid& part : parts)
      here.push_back(to(part, device, NonBlocking::no));
    return here;
  }
  static Grid cat(const std::vector<Grid>& parts, int dim) {
    const Grid& first = parts[0];
    const std::size_t d = place(first, dim);
    auto sizes = first.data->sizes;
    sizes[d] = 0;
    for (const Grid& part : parts)
      sizes[d] += size(part, dim);
    std::vector<double> values;
    for (std::int64_t o = 0; o < first.product(0, d); ++o) {
      for (const Grid& part : parts) {
        const std::int64_t all = part.product(d, sizes.size());
        const auto begin = part.data->values.begin() + o * all;
        values.insert(values.end(), begin, begin + all);
      }
    }
    return test::grid(sizes, values, first.data->device, first.data->whole_numbers);
  }
  static Grid stack(const std::vector<Grid>& parts) {
    std::vector<Grid> rows;
    for (const Grid& part : parts) {
      auto sizes = part.data->sizes;
      sizes.insert(sizes.begin(), 1);
      rows.push_back(
          test::grid(sizes, part.data->values, part.data->device, part.data->whole_numbers));
    }
    return cat(rows, 0);
  }
  static Grid add(const Grid& a, const Grid& b) {
    auto values = a.data->values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += b.data->values[i];
    return test::grid(a.data->sizes, values, a.data->device, a.data->whole_numbers);
  }
  static Grid multiply(const Grid& x, double factor) {
    auto values = x.data->values;
    for (double& value : values)
      value *= factor;
    return test::grid(x.data->sizes, values, x.data->device, x.data->whole_numbers);
  }
};

namespace test {
namespace {

using tandem::testing::device;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

auto is_grid(std::vector<std::int64_t> sizes, std::vector<double> values, Device device) {
  return ::testing::ResultOf(
      [](const Grid& x) { return std::tuple(x.data->sizes, x.data->values, x.data->device); },
      ::testing::Eq(std::tuple(std::move(sizes), std::move(values), device)));
}

struct GridBatch {
  Grid x;
  std::map<std::string, std::optional<Grid>> named;
  Split<Grid> columns;
  Replicated<std::vector<Grid>> tables;
  Rows<Grid> each;
  std::string name;
  Grid none = {};
  TANDEM_FIELDS(x, named, columns, tables, each, name, none)
};

/// Three rows.
GridBatch grids() {
  return {.x = grid({3, 2}, {1, 2, 3, 4, 5, 6}),
          .named = {{"mask", grid({3}, {7, 8, 9})}, {"no", std::nullopt}},
          .columns = split(grid({2, 3}, {1, 2, 3, 4, 5, 6}), 1),
          .tables = replicate(std::vector<Grid>{grid({}, {4})}),
          .each = rows(std::vector<Grid>{grid({1}, {1}), grid({2}, {2, 2}), grid({}, {3})}),
          .name = "three"};
}

TEST(ForeignLeavesTest, AreScatteredByMarks) {
  const auto parts = scatter(grids(), devices(3), std::vector<std::int64_t>{1, 0, 2});
  const GridBatch& last = parts[2];
  const Device there = device(2);
  EXPECT_THAT(last.x, is_grid({2, 2}, {3, 4, 5, 6}, there));
  EXPECT_THAT(*last.named.at("mask"), is_grid({2}, {8, 9}, there));
  EXPECT_FALSE(last.named.at("no").has_value() || last.none.data);
  EXPECT_THAT(last.columns.value, is_grid({2, 2}, {2, 3, 5, 6}, there));
  EXPECT_THAT(last.tables.value, ElementsAre(is_grid({}, {4}, there)));
  EXPECT_THAT(last.each.value, ElementsAre(is_grid({2}, {2, 2}, there), is_grid({}, {3}, there)));
  EXPECT_EQ(last.name, "three");
  EXPECT_THAT(parts[1].x, is_grid({0, 2}, {}, device(1)));
}

TEST(ForeignLeavesTest, AreScatteredByTheUsersFunction) {
  const auto argument = scatter_by(
      grid({2}, {1, 2}),
      [](const Grid& x, const Replica& r) {
        return std::pair(r.index, LeafOps<Grid>::narrow(x, 0, r.rows.begin, r.rows.size()));
      },
      2);
  const auto parts = scatter(argument, devices(2), std::vector<std::int64_t>{1, 1});
  EXPECT_EQ(parts[1].first, 1);
  EXPECT_THAT(parts[1].second, is_grid({1}, {2}, device(1)));
}

TEST(ForeignLeavesTest, AreCountedWithTandemsOwn) {
  EXPECT_EQ(count_rows(0, grids(), ones({3, 1})), 3);
  EXPECT_EQ(find_rows(0, replicate(grid({}, {1})), 2.0), std::nullopt);
  EXPECT_THAT(thrown_text([] { count_rows(0, ones({4}), grids()); }),
              AllOf(HasSubstr("argument 0 (f32 (4)"),
                    HasSubstr("argument 1.x (grid 3 2 on cpu:0, dimension 0) has 3 rows"),
                    HasSubstr("argument 1.named[\"mask\"] (grid 3 on cpu:0"),
                    HasSubstr("argument 1.columns (grid 2 3 on cpu:0, dimension 1)")));
  EXPECT_THAT(thrown_text([] { count_rows(0, grid({}, {1})); }),
              HasSubstr("argument 0 is a scalar tensor, which has no rows"));
  EXPECT_THAT(thrown_text([] {
                count_rows(-3, grid({1, 1}, {1}));
              }),
              HasSubstr("argument 0 (grid 1 1 on cpu:0) has no dimension -3"));
  EXPECT_EQ(detail::split_nbytes(grids(), {}), (6 + 3 + 6) * sizeof(double));
  EXPECT_EQ(detail::split_nbytes(grids(), {DeviceType::cpu, 1}), 0u);
}

struct GridReport {
  Grid y;
  std::vector<Grid> loss;  // a scalar
  Split<Grid> columns;
  Combined<Grid, Combine::mean> center;
  Combined<int, Combine::sum> hits;
  Combined<double, Combine::weighted_mean> score;
  std::string name = "report";
  std::optional<Grid> none = Grid{};
  TANDEM_FIELDS(y, loss, columns, center, hits, score, name, none)
};

/// Reports of one row and of three.
std::vector<GridReport> reports() {
  return {{.y = grid({1, 2}, {1, 2}),
           .loss = {grid({}, {4}, device(0))},
           .columns = split(grid({2, 1}, {1, 3}), 1),
           .center = {grid({2}, {1, 3})},
           .hits = {2},
           .score = {8}},
          {.y = grid({3, 2}, {3, 4, 5, 6, 7, 8}, device(1)),
           .loss = {grid({}, {8}, device(1))},
           .columns = split(grid({2, 3}, {2, 2, 2, 4, 4, 4}), 1),
           .center = {grid({2}, {3, 5})},
           .hits = {3},
           .score = {4}}};
}

TEST(ForeignLeavesTest, AreGatheredByMarks) {
  const Device there = device(2);
  const std::vector<GridReport> parts = reports();
  const auto join = [&](Combine how) {
    return gather(std::span(parts), there, {.scalars = how, .rows = {1, 3}});
  };
  const GridReport all = join(Combine::stack);
  EXPECT_THAT(all.y, is_grid({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, there));
  EXPECT_THAT(all.loss[0], is_grid({2}, {4, 8}, there));
  EXPECT_THAT(all.columns.value, is_grid({2, 4}, {1, 2, 2, 2, 3, 4, 4, 4}, there));
  EXPECT_THAT(all.center.value, is_grid({2}, {2, 4}, there));
  EXPECT_EQ(all.hits.value, 5);
  EXPECT_EQ(all.score.value, 5);
  EXPECT_EQ(all.name, "report");
  EXPECT_FALSE(all.none->data);
  EXPECT_THAT(join(Combine::sum).loss[0], is_grid({}, {12}, there));
  EXPECT_THAT(join(Combine::weighted_mean).loss[0], is_grid({}, {7}, there));
}

TEST(ForeignLeavesTest, StayDistributed) {
  const std::vector<std::pair<Replica, Grid>> made{{{0, device(0), {0, 1}}, grid({2}, {1, 2})},
                                                   {{1, device(1), {1, 4}}, grid({2}, {3, 4})}};
  std::vector<Distributed<Grid>::Part> parts;
  for (const auto& [replica, x] : made)
    parts.push_back({replica, LeafOps<Grid>::to(x, replica.device, NonBlocking::no)});
  const Distributed<Grid> y(parts, device(1), {});
  EXPECT_THAT(y.gather(), is_grid({4}, {1, 2, 3, 4}, device(1)));
  EXPECT_THAT(y.reduce(Combine::weighted_mean), is_grid({2}, {2.5, 3.5}, device(1)));
}

TEST(ForeignLeavesTest, PartsThatDoNotFitSayWhatDiffers) {
  const auto refusal = [](const auto& first, const auto& second, const GatherOptions& options) {
    const std::vector parts{first, second};
    return thrown_text([&] { gather(std::span(parts), Device{}, options); });
  };
  const Device there = device(1);
  EXPECT_THAT(refusal(grid({1, 2}, {1, 2}), grid({1, 1}, {1}, there), {}),
              HasSubstr("a tensor is grid 1 1 on " + to_string(there) +
                        " in part 1 and grid 1 2 on cpu:0 in part 0"));
  EXPECT_THAT(refusal(grid({1}, {1}), grid({1}, {1}, {}, true), {}), HasSubstr("the same dtype"));
  EXPECT_THAT(refusal(grid({1}, {1}), Grid{}, {}), HasSubstr("defined in some parts only"));
  EXPECT_THAT(refusal(grid({}, {1}, {}, true), grid({}, {1}, {}, true), {.scalars = Combine::mean}),
              HasSubstr("a mean needs floats, got grid on cpu:0"));
  EXPECT_THAT(
      refusal(
          std::vector<Grid>{grid({1}, {1})}, std::vector<Grid>{grid({1}, {1}, there), Grid{}}, {}),
      HasSubstr("part 1 holds 2 tensors, but part 0 holds 1 (on " + to_string(there) +
                " and cpu:0)"));
  EXPECT_THAT(refusal(std::pair(Grid{}, 1), std::pair(Grid{}, 2), {}),
              HasSubstr("'2' in part 1 and '1' in part 0"));
}

/// Computes with rows of the other library.
struct GridNet : nn::Module {
  nn::Linear body{2, 1, {.dtype = DType::f64}};
  Tensor forward(const Grid& x) {
    const auto& [sizes, values, where, whole_numbers] = *x.data;
    return body(from_host<double>(values, {sizes[0], sizes[1]}, where));
  }
  TANDEM_MODULE(GridNet, body)
};

TEST(ForeignLeavesTest, AreTheBatchOfAStep) {
  GridNet alone, net = nn::clone(alone);
  const Grid x = grid({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, device(0));
  // A checkpoint keeps them as it keeps other arguments.
  mean(autograd::checkpoint(alone, x)).backward();
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(x, [](GridNet& replica, const Grid& part) { return mean(replica(part)); });
  EXPECT_EQ(net.body.weight.grad().to_doubles(), (std::vector<double>{5, 6}));
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

}  // namespace
}  // namespace test
}  // namespace tandem::parallel
