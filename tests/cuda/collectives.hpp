// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/group.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/tensor/factories.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"

// Every collective of GPUs against a serial loop, while their main streams have other work before
// and after it.
namespace tandem::cuda::test {

using Values = std::vector<double>;

inline constexpr comm::GroupOptions kNccl{.timeout = std::chrono::seconds(30),
                                          .backend = comm::Backend::nccl};

/// What one rank does: tensors that are still being written go in, and are written again as soon
/// as the collective is waited for.
class RankCheck {
 public:
  RankCheck(comm::Communicator& comm, std::int64_t n) : comm_(comm), n_(n) {}

  void broadcast() {
    const Tensor x = late(own());
    comm_.broadcast(x, root());
    expect_then_spoil(x, of(root()), "broadcast");
  }
  void reduce() {
    const Tensor x = late(own());
    comm_.reduce(x, comm::ReduceOp::sum, root());
    expect_then_spoil(x, comm_.rank() == root() ? sum() : own(), "reduce");
  }
  void all_reduce() {
    const Tensor x = late(own());
    comm_.all_reduce(x);
    expect_then_spoil(x, sum(), "all_reduce");
  }
  /// Two at once, with work between their start and their end.
  void start_all_reduce() {
    const Tensor x = late(own()), y = late(own());
    comm::Handle first = comm_.start_all_reduce(x);
    comm::Handle second = comm_.start_all_reduce(y, comm::ReduceOp::max);
    const Tensor other = late(own());
    second.wait();
    expect_then_spoil(y, of(comm_.size() - 1, true), "second all_reduce");
    first.wait();
    expect_then_spoil(x, sum(), "first all_reduce");
    expect_then_spoil(other, own(), "work beside it");
  }
  void gather() {
    const Tensor part = late(own()), whole = late(Values(all().size()));
    comm_.gather(part, whole, root());
    spoil(part);
    expect_then_spoil(whole, comm_.rank() == root() ? all() : Values(all().size()), "gather");
  }
  void scatter() {
    const Tensor whole = late(all()), part = late(Values(own().size()));
    comm_.scatter(whole, part, root());
    spoil(whole);
    expect_then_spoil(part, own(), "scatter");
  }
  void all_gather() {
    const Tensor part = late(own()), whole = late(Values(all().size()));
    comm_.all_gather(part, whole);
    spoil(part);
    expect_then_spoil(whole, all(), "all_gather");
  }
  void reduce_scatter() {
    const Tensor whole = late(all()), part = late(Values(own().size()));
    comm_.reduce_scatter(whole, part);
    spoil(whole);
    Values expected = own();
    for (double& v : expected)
      v *= comm_.size();
    expect_then_spoil(part, expected, "reduce_scatter");
  }
  void all_to_all() {
    const Tensor input = late(all()), output = late(Values(all().size()));
    comm_.all_to_all(input, output);
    spoil(input);
    Values expected;
    for (int r = 0; r < comm_.size(); ++r)
      std::ranges::copy(own(), std::back_inserter(expected));
    expect_then_spoil(output, expected, "all_to_all");
  }
  /// Round in a ring, while a collective is under way.
  void message() {
    const int size = comm_.size();
    const Tensor x = late(own()), got = late(Values(own().size())), sum_of_all = late(own());
    comm::Handle reduced = comm_.start_all_reduce(sum_of_all);
    comm::Handle sent = comm_.start_send(x, (comm_.rank() + 1) % size);
    comm_.recv(got, (comm_.rank() + size - 1) % size);
    sent.wait();
    spoil(x);
    expect_then_spoil(got, of((comm_.rank() + size - 1) % size), "recv");
    reduced.wait();
    expect_then_spoil(sum_of_all, sum(), "all_reduce beside messages");
  }
  /// Two as one, in the whole group and in one of the same ranks backwards.
  void coalesced() {
    const auto backwards = comm_.split(0, -comm_.rank());
    for (comm::Communicator* group : {&comm_, backwards.get()}) {
      const Tensor x = late(own()), y = late(own());
      group->coalesced({comm::Collective::all_reduce(x, comm::premul_sum(2)),
                        comm::Collective::broadcast(y, group == &comm_ ? root() : 0)});
      Values twice = sum();
      for (double& v : twice)
        v *= 2;
      expect_then_spoil(x, twice, "coalesced all_reduce");
      expect_then_spoil(y, of(root()), "coalesced broadcast");
    }
    comm_.barrier();  // nobody's group goes before the others are done
  }
  void run() {
    broadcast();
    reduce();
    all_reduce();
    start_all_reduce();
    gather();
    scatter();
    all_gather();
    reduce_scatter();
    all_to_all();
    message();
    coalesced();
    for (const auto& [tensor, expected, what] : results_)
      EXPECT_EQ(tensor.to_doubles(), expected) << what << " on rank " << comm_.rank();
  }

 private:
  struct Result {
    Tensor tensor;
    Values expected;
    const char* what;
  };

  int root() const { return comm_.size() - 1; }
  Values own() const { return of(comm_.rank()); }
  /// A rank's values, or their maximum over all ranks.
  Values of(int rank, bool most = false) const {
    Values values = testing::rank_values(rank, n_, DType::f64);
    for (int r = 0; most && r < comm_.size(); ++r) {
      const Values x = testing::rank_values(r, n_, DType::f64);
      for (std::size_t i = 0; i < x.size(); ++i)
        values[i] = std::max(values[i], x[i]);
    }
    return values;
  }
  Values sum() const {
    Values total(static_cast<std::size_t>(n_));
    for (int r = 0; r < comm_.size(); ++r)
      std::ranges::transform(total, of(r), total.begin(), std::plus{});
    return total;
  }
  Values all() const {
    Values joined;
    for (int r = 0; r < comm_.size(); ++r)
      std::ranges::copy(of(r), std::back_inserter(joined));
    return joined;
  }
  /// A tensor whose values are written by kernels that the collective must wait for.
  Tensor late(const Values& values) const {
    const Tensor source = testing::make_tensor(values, DType::f64, comm_.device());
    Tensor x = mul(source, -1);
    for (int i = 0; i < 4; ++i)
      x.mul_(2);
    return x.mul_(-1. / 16);
  }
  static void spoil(Tensor x) { x.fill_(-1); }
  void expect_then_spoil(const Tensor& x, const Values& expected, const char* what) {
    results_.push_back({add(x, 0), expected, what});
    spoil(x);
  }

  comm::Communicator& comm_;
  std::int64_t n_;
  std::vector<Result> results_;
};

/// Runs every collective on the group, of `n` elements a rank.
inline void check_collectives(testing::Group& group, std::int64_t n) {
  testing::run_ranks(group, [n](comm::Communicator& comm) { RankCheck(comm, n).run(); });
}

}  // namespace tandem::cuda::test
