// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/world_rank.hpp"

#include <array>
#include <span>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

int first_idle_process(const ForwardRows& told, int devices_of_each) {
  const int processes = static_cast<int>(told.rows.size()) / devices_of_each;
  for (int process = 0; process < processes; ++process) {
    bool is_active = false;
    for (int d = 0; d < devices_of_each; ++d)
      is_active |= told.is_active(process * devices_of_each + d);
    if (!is_active) return process;
  }
  return -1;
}

}  // namespace

WorldRank::WorldRank(std::unique_ptr<comm::Communicator> all,
                     std::unique_ptr<comm::Communicator> across,
                     int index)
    : all_(std::move(all)),
      across_(std::move(across)),
      first_here_(all_->rank() - index),
      rows_(std::make_unique<RankRows>(*all_)) {}

WholeBatch WorldRank::exchange(std::int64_t rows) {
  const autograd::NoGrad off;
  const ForwardRows told = rows_->exchange(rows > 0 ? rows : -1, GradientSync::on);
  WholeBatch whole{.rows = told.all_rows(), .first = told.first_active()};
  for (int r = 0; r < first_here_; ++r)
    if (told.is_active(r)) whole.before += told.rows[static_cast<std::size_t>(r)];
  whole.idle_process = first_idle_process(told, all_->size() / across_->size());
  if (whole.first >= 0) rows_->regroup(told);
  return whole;
}

std::vector<std::uint8_t> WorldRank::used_anywhere(const std::vector<std::uint8_t>& used) const {
  const autograd::NoGrad off;
  const Tensor x = from_host(std::span<const std::uint8_t>(used),
                             {static_cast<std::int64_t>(used.size())},
                             all_->device());
  all_->all_reduce(x, comm::ReduceOp::max);
  return x.to_host<std::uint8_t>();
}

WholeStep WorldRank::agree(const WholeStep& own) const {
  const autograd::NoGrad off;
  const std::array<double, 3> values{own.sum, own.weight, own.has_no_effect ? 1.0 : 0.0};
  const Tensor x = from_host(std::span<const double>(values), {3}, all_->device());
  all_->all_reduce(x);
  const std::vector<double> sums = x.to_doubles();
  return {sums[0], sums[1], sums[2] != 0};
}

std::vector<std::int64_t> WorldRank::gather(const std::vector<std::int64_t>& own) const {
  const autograd::NoGrad off;
  const ContextScope kept([](Context& c) { c.keeps_data = true; });
  const auto count = static_cast<std::int64_t>(own.size());
  const Tensor mine = from_host(std::span<const std::int64_t>(own), {count}, across_->device());
  const Tensor all =
      zeros({count * across_->size()}, {.dtype = DType::i64, .device = across_->device()});
  across_->all_gather(mine, all);
  return all.to_host<std::int64_t>();
}

void WorldRank::forget_rows() {
  rows_ = std::make_unique<RankRows>(*all_);
}

}  // namespace tandem::parallel
