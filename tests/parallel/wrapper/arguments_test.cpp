// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What dp(...) and step() take. One device is the oracle.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Named arguments: each field has its own way.
struct Named {
  Tensor x;                                 // (rows, 4)
  Replicated<Tensor> table;                 // (4, 3)
  Split<Tensor> mask;                       // (3, rows)
  Rows<Tensor> bias;                        // rows tensors of one element
  std::map<std::string, Tensor> more = {};  // (rows)
  std::optional<Tensor> factor = {};        // (rows, 1)
  std::vector<double> numbers = {};
  TANDEM_FIELDS(x, table, mask, bias, more, factor, numbers)
};

struct NamedNet : nn::Module {
  nn::Linear body{4, 4, {.dtype = DType::f64}};
  Tensor forward(const Named& a) {
    Tensor y = matmul(tanh(body(a.x)), a.table.value) * a.mask.value.t();
    y = y + stack(a.bias.value).reshape({-1, 1});
    for (const auto& [name, x] : a.more)
      y = y * x.unsqueeze(1);
    for (const double number : a.numbers)
      y = y * number;
    return a.factor ? y * *a.factor : y;
  }
  TANDEM_MODULE(NamedNet, body)
};

std::vector<Tensor> tensors_of(const Named& a) {
  std::vector<Tensor> all = leaves(a);
  for (Tensor& x : all)
    x.requires_grad_();
  return all;
}

Named named(std::int64_t n) {
  manual_seed(5);
  Named a{.x = randn({n, 4}, f64()),
          .table = replicate(randn({4, 3}, f64())),
          .mask = split(randn({3, n}, f64()), 1),
          .bias = {},
          .more = {{"scale", randn({n}, f64())}},
          .factor = randn({n, 1}, f64()),
          .numbers = {0.5, 3}};
  for (std::int64_t i = 0; i < n; ++i)
    a.bias.value.push_back(randn({1}, f64()));
  return a;
}

void expect_named_arguments(Mode mode, const std::vector<std::int64_t>& sizes) {
  manual_seed(1);
  NamedNet alone;
  NamedNet net = nn::clone(alone);
  const Named a = named(5), b = named(5);
  const std::vector<Tensor> inputs = tensors_of(a), expected = tensors_of(b);
  const Tensor y = alone(b);
  sum(square(y)).backward();
  DataParallel dp(net, {.devices = devices(3), .mode = mode, .chunk_sizes = sizes});
  const Tensor got = dp(a);
  EXPECT_THAT(got.to_doubles(), near(y)) << ::testing::PrintToString(sizes);
  sum(square(got)).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
  ASSERT_EQ(inputs.size(), 10u);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_THAT(inputs[i].grad().to_doubles(), near(expected[i].grad()))
        << "tensor " << i << ", chunks " << ::testing::PrintToString(sizes);
  }
}

TEST(ArgumentsTest, FieldsOfAStructAreSharedOutEachInItsWay) {
  for (const Mode mode : kModes) {
    for (const auto& sizes : kChunks)
      expect_named_arguments(mode, sizes);
  }
}

TEST(ArgumentsTest, StepTakesMarkedFields) {
  manual_seed(1);
  NamedNet alone;
  NamedNet net = nn::clone(alone);
  const Named a = named(5);
  mean(square(alone(a))).backward();
  for (const std::int64_t parts : {1, 2}) {
    net.zero_grad();
    DataParallel dp(net, {.devices = devices(3), .gpu0_bsz = 1, .accumulate = parts});
    const auto result =
        dp.step(a, [](NamedNet& m, const Named& part) { return mean(square(m(part))); });
    EXPECT_EQ(result.weight, 5);
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12) << parts;
  }
}

/// A value that is not a nest.
struct Opaque {
  std::string text;
};

struct RowsNet : nn::Module {
  Tensor forward(const Tensor& x, const std::vector<Opaque>& texts, const Opaque& all) {
    std::vector<double> lengths;
    for (const Opaque& t : texts)
      lengths.push_back(static_cast<double>(t.text.size() + all.text.size()));
    EXPECT_EQ(x.size(0), static_cast<std::int64_t>(texts.size()));
    return x * from_host(std::span<const double>(lengths), {x.size(0)}).to(x.device());
  }
  TANDEM_MODULE(RowsNet)
};

TEST(ArgumentsTest, ObjectsGoToTheDeviceThatHasTheirRow) {
  const std::vector<Opaque> texts{{"a"}, {"bb"}, {""}, {"dddd"}, {"eeeee"}};
  const Tensor x = ones({5}, f64());
  for (const auto& sizes : kChunks) {
    RowsNet net;
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
    EXPECT_THAT(dp(x, rows(texts), replicate(Opaque{"123"})).to_doubles(),
                ElementsAre(4, 5, 3, 7, 8));
  }
}

struct RaggedNet : nn::Module {
  nn::Linear body{2, 3, {.dtype = DType::f64}};
  /// The mean over each sequence.
  Tensor forward(const std::vector<Tensor>& sequences) {
    std::vector<Tensor> means;
    for (const Tensor& s : sequences) {
      EXPECT_EQ(s.device(), body.weight.device());
      means.push_back(mean(body(s), {0}));
    }
    return stack(means);
  }
  TANDEM_MODULE(RaggedNet, body)
};

TEST(ArgumentsTest, SequencesOfSeveralLengthsAreSplitByRows) {
  manual_seed(2);
  RaggedNet alone;
  RaggedNet net = nn::clone(alone);
  std::vector<Tensor> sequences, same;
  for (const std::int64_t length : {3, 1, 4, 2}) {
    sequences.push_back(randn({length, 2}, f64()).requires_grad_());
    same.push_back(sequences.back().detach().clone().requires_grad_());
  }
  const Tensor expected = alone(same);
  sum(square(expected)).backward();
  DataParallel dp(net, {.devices = devices(3), .gpu0_bsz = 0});
  const Tensor y = dp(rows(sequences));
  EXPECT_THAT(y.to_doubles(), near(expected));
  sum(square(y)).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_THAT(sequences[i].grad().to_doubles(), near(same[i].grad())) << i;
}

struct Plus : nn::Module {
  nn::Linear body{2, 2, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x, const Tensor& other) { return body(x) * other; }
  TANDEM_MODULE(Plus, body)
};

TEST(ArgumentsTest, TheUsersFunctionSharesOut) {
  // Every second row from the end: row r of the batch has entry 2 (n - 1 - r).
  const auto reversed = [](const Tensor& all, const Replica& r) {
    std::vector<Tensor> entries;
    for (std::int64_t i = r.rows.begin; i < r.rows.end; ++i)
      entries.push_back(all.narrow(0, 2 * (4 - i), 1));
    return cat(entries);
  };
  for (const auto& sizes : kChunks) {
    manual_seed(3);
    Plus alone;
    Plus net = nn::clone(alone);
    const Tensor x = randn({5, 2}, f64());
    Tensor all = randn({10, 2}, f64()).requires_grad_();
    Tensor same = all.detach().clone().requires_grad_();
    const Tensor expected = alone(x, reversed(same, {0, {}, {0, 5}}));
    sum(square(expected)).backward();
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
    const Tensor y = dp(x, scatter_by(all, reversed));
    EXPECT_THAT(y.to_doubles(), near(expected));
    sum(square(y)).backward();
    EXPECT_THAT(all.grad().to_doubles(), near(same.grad())) << ::testing::PrintToString(sizes);
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
    EXPECT_THAT(dp(scatter_by(
                       x,
                       [](const Tensor& t, const Replica& r) {
                         return t.narrow(0, r.rows.begin, r.rows.size());
                       },
                       5),
                   scatter_by(all, reversed))
                    .to_doubles(),
                near(expected))
        << "rows by number";
  }
}

TEST(ArgumentsTest, RowsThatDifferAreListedByPlaceAndField) {
  Named a = named(5);
  NamedNet net;
  DataParallel dp(net, {.devices = devices(2)});
  a.bias.value.pop_back();
  a.more["scale"] = ones({7}, f64());
  const std::string text = thrown_text([&] { dp(a); });
  EXPECT_THAT(text,
              AllOf(HasSubstr("argument 0.x (f64 (5, 4)"),
                    HasSubstr("dimension 0) has 5 rows"),
                    HasSubstr("argument 0.mask (f64 (3, 5)"),
                    HasSubstr("argument 0.bias (a vector) has 4 rows"),
                    HasSubstr("argument 0.more[\"scale\"] (f64 (7)"),
                    HasSubstr("has 7 rows"),
                    ::testing::Not(HasSubstr("table"))));
  Plus plus;
  DataParallel two(plus, {.devices = devices(2)});
  EXPECT_THAT(thrown_text([&] {
                two(ones({4, 2}, f64()), ones({3, 2}, f64()));
              }),
              AllOf(HasSubstr("argument 0 (f64 (4, 2)"),
                    HasSubstr("argument 1 (f64 (3, 2)"),
                    HasSubstr("replicate(...)")));
  EXPECT_THAT(thrown_text([&] {
                two(ones({4, 2}, f64()), scalar(2.0));
              }),
              HasSubstr("argument 1 is a scalar tensor"));
  EXPECT_THAT(thrown_text([&] {
                count_rows(0, std::vector<Tensor>{ones({2}), ones({3})}, 1.0);
              }),
              HasSubstr("argument 0[1] (f32 (3)"));
}

/// Nothing to split: no arguments, or numbers alone.
struct Constant : nn::Module {
  nn::Parameter weight = full({3}, 2.0, f64());
  int calls = 0;
  Tensor forward(double factor = 1, const std::vector<Tensor>& none = {}) {
    EXPECT_TRUE(none.empty());
    ++calls;
    return weight * factor;
  }
  TANDEM_MODULE(Constant, weight)
};

TEST(ArgumentsTest, NothingToSplitRunsOnceOnDevice0) {
  for (const int n : {1, 3}) {
    Constant net;
    DataParallel dp(net, {.devices = devices(n)});
    EXPECT_THAT(dp().to_doubles(), ElementsAre(2, 2, 2));
    EXPECT_THAT(dp(3.0).to_doubles(), ElementsAre(6, 6, 6));
    const Tensor y = dp(4.0, std::vector<Tensor>{});
    EXPECT_EQ(y.device(), devices(1)[0]);
    sum(y).backward();
    EXPECT_THAT(net.weight.grad().to_doubles(), ElementsAre(4, 4, 4));
    EXPECT_EQ(net.calls, 3);
    for (int r = 1; r < n; ++r)
      EXPECT_EQ(dp.replica(r).calls, 0);
  }
}

struct Doubled : nn::Module {
  Tensor forward(const Tensor& x, const std::map<std::string, Tensor>& none) {
    EXPECT_TRUE(none.empty());
    return x * 2.0;
  }
  TANDEM_MODULE(Doubled)
};

TEST(ArgumentsTest, AnEmptyContainerIsNotSplit) {
  Doubled net;
  DataParallel dp(net, {.devices = devices(2)});
  EXPECT_THAT(dp(arange(0, 3), std::map<std::string, Tensor>{}).to_doubles(), ElementsAre(0, 2, 4));
}

TEST(ArgumentsTest, InputsMayLiveOnAnyDevice) {
  const std::pair<int, Mode> cases[] = {{0, Mode::server},
                                        {1, Mode::server},
                                        {2, Mode::server},
                                        {1, Mode::classic},
                                        {1, Mode::sharded}};
  for (const auto& [place, mode] : cases) {
    manual_seed(2);
    Mlp alone;
    Mlp net = nn::clone(alone);
    const Device device = devices(3)[static_cast<std::size_t>(place)];
    const Tensor x = randn({5, 3, 2, 2}, f64()).to(device).requires_grad_();
    const Tensor same = x.detach().to(devices(1)[0]).clone().requires_grad_();
    sum(square(alone(same))).backward();
    DataParallel dp(net,
                    {.devices = devices(2), .mode = mode, .deadline = std::chrono::seconds(20)});
    sum(square(dp(x))).backward();
    EXPECT_EQ(x.grad().device(), device);
    EXPECT_THAT(x.grad().to_doubles(), near(same.grad())) << place;
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
  }
}

}  // namespace
}  // namespace tandem::parallel::test
