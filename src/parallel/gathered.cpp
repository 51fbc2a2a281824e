// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/gathered.hpp"

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/elementwise.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel::detail {
namespace {

/// Gradients of the replicas' outputs, cut from those of the gathered ones.
Tensor part_of(const Tensor& dy,
               const GatheredCall::Place& place,
               std::size_t device,
               Device target) {
  const ContextScope scope([](Context& c) { c.category = Category::output_gradient; });
  const RowRange range = place.rows[device];
  const Tensor part = place.scalar ? dy.select(0, range.begin)
                                   : dy.narrow(place.dim, range.begin, range.end - range.begin);
  return part.to(target);
}

Tensor input_gradient(const ReplicaTapes::Input& input) {
  std::vector<Tensor> parts;
  for (const Tensor& part : input.parts) {
    if (!part.defined()) continue;
    parts.push_back(
        (part.grad().defined() ? part.grad() : zeros_like(part)).to(input.whole.device()));
  }
  if (input.split) return cat(parts, input.dim);
  Tensor total = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    total = total + parts[i];
  return total;
}

/// backward of `dp(x)`: through the tapes of the replicas, on their threads.
autograd::Gradients backward(ReplicaSet& set,
                             const std::vector<RowRange>& rows,
                             const std::shared_ptr<ReplicaTapes>& tapes,
                             const std::vector<GatheredCall::Place>& places,
                             const std::vector<Tensor>& dys,
                             std::size_t inputs) {
  TANDEM_CHECK(!context().grad_enabled,
               "DataParallel: gradients of gradients through dp(x) are not there; compute the "
               "penalty in the replica, by step()");
  TANDEM_CHECK(!context().captures_gradients,
               "DataParallel: autograd::grad through dp(x) is not there; use backward(), which "
               "reaches every replica");
  TANDEM_CHECK(!std::ranges::all_of(tapes->outputs, &std::vector<Tensor>::empty),
               "DataParallel: the replicas' tapes of this dp(x) were released by an earlier "
               "backward, which failed; call dp(x) again");
  const bool retain = context().retains_graph;
  set.backward(rows, [tapes, places, dys, retain](const Replica& r) {
    const auto at = static_cast<std::size_t>(r.index);
    for (ReplicaTapes::Input& input : tapes->inputs) {
      if (input.parts[at].defined()) input.parts[at].set_grad({});  // an earlier backward's
    }
    std::vector<Tensor> roots, gradients;
    for (std::size_t k = 0; k < dys.size(); ++k) {
      const Tensor& output = tapes->outputs[at][k];
      if (!dys[k].defined() || !output.requires_grad()) continue;
      roots.push_back(output);
      gradients.push_back(part_of(dys[k], places[k], at, r.device));
    }
    if (!retain) tapes->outputs[at].clear();
    if (!roots.empty()) autograd::backward(roots, gradients, {.retain_graph = retain});
  });
  autograd::Gradients result(inputs);
  for (std::size_t i = 0; i < tapes->inputs.size(); ++i)
    result[i] = input_gradient(tapes->inputs[i]);
  return result;
}

}  // namespace

std::vector<Device> devices_of(const DataParallelOptions& options) {
  return options.devices.empty() ? default_devices() : options.devices;
}

WeightedSum weighted(const WeightedSum& loss, RowRange) {
  return loss;
}

WeightedSum weighted(const Tensor& loss, RowRange rows) {
  TANDEM_CHECK(loss.defined() && loss.numel() == 1,
               "step: the loss must be a scalar, it is ",
               loss.describe());
  const auto n = static_cast<double>(rows.end - rows.begin);
  return {loss * n, scalar(n, {.dtype = loss.dtype(), .device = loss.device()})};
}

GatheredCall::GatheredCall(std::shared_ptr<ReplicaSet> set,
                           std::vector<RowRange> rows,
                           const DataParallelOptions& options,
                           std::vector<Tensor> parameters)
    : set_(std::move(set)),
      rows_(std::move(rows)),
      output_device_(options.output_device.value_or(set_->devices().front())),
      dim_(options.dim),
      parameters_(std::move(parameters)),
      tapes_(std::make_shared<ReplicaTapes>()) {
  tapes_->outputs.resize(rows_.size());
}

int GatheredCall::add_input(const Tensor& x, int dim, Whole whole) {
  if (!context().grad_enabled || !x.requires_grad()) return -1;
  tapes_->inputs.push_back({x, dim, whole == Whole::no, std::vector<Tensor>(rows_.size())});
  return static_cast<int>(tapes_->inputs.size()) - 1;
}

std::vector<GatheredCall::Place> GatheredCall::gather_on_device(std::vector<Tensor>& joined) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.category = Category::output; });
  std::vector<Place> places(joined.size());
  for (std::size_t k = 0; k < joined.size(); ++k) {
    Place& place = places[k];
    place.rows.resize(rows_.size());
    place.dim = dim_;
    std::vector<Tensor> parts;
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].end == rows_[r].begin) continue;
      const std::vector<Tensor>& outputs = tapes_->outputs[r];
      TANDEM_CHECK(outputs.size() == joined.size(),
                   "gather: replica ",
                   r,
                   " returned ",
                   outputs.size(),
                   " tensors, the first one ",
                   joined.size(),
                   "; return as many from every replica");
      const Tensor part = outputs[k].defined() ? outputs[k].detach() : Tensor{};
      place.scalar = part.defined() && part.ndim() == 0;
      const std::int64_t size = !part.defined() ? 0 : place.scalar ? 1 : part.size(dim_);
      place.rows[r] = {begin, begin + size};
      begin += size;
      parts.push_back(part);
    }
    joined[k] = join_rows(parts, dim_, output_device_);
  }
  return places;
}

std::vector<Tensor> GatheredCall::join() {
  const auto first =
      std::ranges::find_if(tapes_->outputs, [](const auto& part) { return !part.empty(); });
  if (first == tapes_->outputs.end()) return {};
  std::vector<Tensor> joined(first->size());
  std::vector<Place> places;
  set_->on_device(output_device_, Phase::gather, [&] { places = gather_on_device(joined); });
  const bool any = std::ranges::any_of(tapes_->outputs, [](const auto& part) {
    return std::ranges::any_of(part, &Tensor::requires_grad);
  });
  if (!any) return joined;
  std::vector<Tensor> inputs;
  for (const auto& input : tapes_->inputs)
    inputs.push_back(input.whole);
  for (const Tensor& p : parameters_) {
    if (p.requires_grad()) inputs.push_back(p);
  }
  const std::size_t count = inputs.size();
  const autograd::MultiFormula formula =
      [set = set_, rows = rows_, tapes = tapes_, places, count](const std::vector<Tensor>& dys) {
        return backward(*set, rows, tapes, places, dys, count);
      };
  return autograd::record("data_parallel", std::move(joined), std::move(inputs), formula);
}

}  // namespace tandem::parallel::detail
