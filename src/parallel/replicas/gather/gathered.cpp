// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/gathered.hpp"

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/runtime/runtime.hpp"

#include "autograd/node.hpp"
#include "parallel/replicas/call/outside_gradients.hpp"
#include "parallel/replicas/gather/gathered_gradients.hpp"
#include "parallel/replicas/module/module_parameters.hpp"
#include "runtime/job_group.hpp"

namespace tandem::parallel::detail {
namespace {

/// The gradient of a replica's output, cut from that of the gathered one.
Tensor part_of(const Tensor& dy,
               const GatheredCall::Place& place,
               std::size_t device,
               Device target) {
  const ContextScope scope([](Context& c) { c.category = Category::output_gradient; });
  const std::size_t part = place.part[device];
  switch (place.rule.kind) {
    case JoinRule::Kind::stack:
      return dy.select(0, static_cast<std::int64_t>(part)).to(target);
    case JoinRule::Kind::weigh: {
      const Tensor here = dy.to(target);
      const double factor = place.rule.factors[part];
      return factor == 1 ? here : here * factor;
    }
    case JoinRule::Kind::rows:
      break;
  }
  const RowRange range = place.rows[device];
  return dy.narrow(place.rule.dim, range.begin, range.size()).to(target);
}

/// Adds the outside tensors that the replicas used to the inputs.
void add_outside(ReplicaTapes& tapes) {
  for (auto& [outside, leaves] : outside_tensors(tapes.outside))
    tapes.inputs.push_back({outside, 0, false, std::move(leaves)});
}

/// Whether any output has a tape to go back through.
bool has_tape(const ReplicaTapes& tapes) {
  return std::ranges::any_of(tapes.outputs, [](const auto& part) {
    return std::ranges::any_of(part, &Tensor::requires_grad);
  });
}

/// @throws InvalidArgument  a backward without retain_graph has gone through one of the outputs.
void check_there(const ReplicaTapes& tapes,
                 const GradientOf& gradient_of,
                 const std::vector<Tensor>& dys,
                 Device device) {
  for (std::size_t d = 0; d < tapes.spent.size(); ++d) {
    for (std::size_t k = 0; k < tapes.spent[d].size(); ++k) {
      if (tapes.spent[d][k] == 0) continue;
      TANDEM_CHECK(!gradient_of(dys, d, k, device).defined(),
                   "DataParallel: the replicas' tapes of this dp(x) were released by an earlier "
                   "backward; pass retain_graph to that backward, or call dp(x) again");
    }
  }
}

/// Multiplies the gradients of a replica's inputs.
void weigh_inputs(ReplicaTapes& tapes, std::size_t replica, double factor) {
  const autograd::NoGrad off;
  for (ReplicaTapes::Input& input : tapes.inputs) {
    const Tensor& part = input.parts[replica];
    if (part.defined() && part.grad().defined()) part.set_grad(part.grad() * factor);
  }
}

/// The gradients of a replica's outputs, on its device; undefined where there is none.
std::vector<Tensor> gradients_of_outputs(const ReplicaTapes& tapes,
                                         std::size_t replica,
                                         const GradientOf& gradient_of,
                                         const std::vector<Tensor>& dys) {
  std::vector<Tensor> gradients;
  for (std::size_t k = 0; k < tapes.outputs[replica].size(); ++k) {
    const Tensor& output = tapes.outputs[replica][k];
    const bool has_tape = output.defined() && output.requires_grad();
    gradients.push_back(has_tape ? gradient_of(dys, replica, k, output.device()) : Tensor());
  }
  return gradients;
}

/// backward of `dp(x)`: through the tapes of the replicas, on their threads. All replicas first
/// fetch the gradients of their outputs: the device that has them could otherwise begin its own
/// backward before, and the others would wait for it.
autograd::Gradients backward(const std::shared_ptr<ReplicaSet>& set,
                             const std::vector<RowRange>& rows,
                             const std::shared_ptr<ReplicaTapes>& tapes,
                             const GradientOf& gradient_of,
                             const std::vector<Tensor>& dys,
                             const std::vector<Tensor>& parameters) {
  TANDEM_CHECK(
      tapes->generation == set->parameters().generation(),
      "DataParallel: parameters were frozen or unfrozen after this dp(x), and then another call "
      "was made; call dp(x) again");
  check_there(*tapes, gradient_of, dys, set->devices().front());
  if (context().grad_enabled || context().captures_gradients || set->parameters().have_hooks())
    return gradients_through(set, rows, tapes, gradient_of, dys, parameters);
  const bool retain = context().retains_graph;
  const auto own = std::make_shared<std::vector<std::vector<Tensor>>>(rows.size());
  set->backward(
      rows,
      [tapes, own, retain](const Replica& r) {
        const auto at = static_cast<std::size_t>(r.index);
        for (ReplicaTapes::Input& input : tapes->inputs) {
          if (input.parts[at].defined()) input.parts[at].set_grad({});  // an earlier backward's
        }
        std::vector<Tensor> roots, gradients;
        for (std::size_t k = 0; k < tapes->outputs[at].size(); ++k) {
          Tensor gradient = std::move((*own)[at][k]);
          if (!gradient.defined()) continue;
          roots.push_back(tapes->outputs[at][k]);
          gradients.push_back(r.weight == 1 ? std::move(gradient) : gradient * r.weight);
          if (!retain) spend(*tapes, at, k);
        }
        if (!roots.empty()) autograd::backward(roots, gradients, {.retain_graph = retain});
        if (r.weight != 1) weigh_inputs(*tapes, at, 1 / r.weight);
      },
      [tapes, own, gradient_of, dys](const Replica& r) {
        const auto at = static_cast<std::size_t>(r.index);
        (*own)[at] = gradients_of_outputs(*tapes, at, gradient_of, dys);
      });
  autograd::Gradients result(tapes->inputs.size() + parameters.size());
  for (std::size_t i = 0; i < tapes->inputs.size(); ++i) {
    std::vector<Tensor> parts;
    for (const Tensor& part : tapes->inputs[i].parts)
      parts.push_back(part.defined() ? part.grad() : part);
    result[i] = join_gradients(tapes->inputs[i], parts);
  }
  return result;
}

}  // namespace

GatheredCall::GatheredCall(std::shared_ptr<ReplicaSet> set,
                           std::vector<RowRange> rows,
                           const DataParallelOptions& options)
    : set_(std::move(set)),
      rows_(std::move(rows)),
      output_device_(options.output_device.value_or(set_->devices().front())),
      deadline_(options.deadline),
      dim_(options.dim),
      scalars_(options.scalars),
      parameters_(set_->parameters().tensors()),
      tapes_(std::make_shared<ReplicaTapes>()) {
  tapes_->outputs.resize(rows_.size());
  tapes_->spent.resize(rows_.size());
  tapes_->outside.resize(rows_.size());
}

int GatheredCall::add_input(const Tensor& x, const LeafRule& rule) {
  if (!context().grad_enabled || !x.requires_grad()) return -1;
  tapes_->inputs.push_back({x, rule.dim, !rule.whole, std::vector<Tensor>(rows_.size())});
  return static_cast<int>(tapes_->inputs.size()) - 1;
}

GatherOptions GatheredCall::gather_options() const {
  GatherOptions options{.dim = dim_, .scalars = scalars_};
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (is_active(rows_, r)) options.rows.push_back(rows_[r].size());
  return options;
}

std::vector<GatheredCall::Place> GatheredCall::gather_on_device(std::vector<OutputParts>& parts,
                                                                std::vector<Tensor>& joined) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.category = Category::output; });
  const GatherOptions options = gather_options();
  std::vector<Place> places(parts[0].tensors.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    Place& place = places[k];
    place.rule = join_rule(parts, k, options);
    place.part.resize(rows_.size());
    place.rows.resize(rows_.size());
    std::vector<Tensor> column;
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!is_active(rows_, r)) continue;
      const Tensor& x = parts[column.size()].tensors[k];
      place.part[r] = column.size();
      column.push_back(x.defined() ? x.detach() : x);
      if (place.rule.kind != JoinRule::Kind::rows || !x.defined()) continue;
      place.rows[r] = {begin, begin + x.size(place.rule.dim)};
      begin = place.rows[r].end;
    }
    joined.push_back(detail::join(column, place.rule, output_device_));
  }
  return places;
}

std::vector<Tensor> GatheredCall::record(std::vector<Tensor> outputs, GradientOf gradient) {
  add_outside(*tapes_);
  tapes_->generation = set_->parameters().generation();
  for (std::size_t d = 0; d < tapes_->outputs.size(); ++d)
    tapes_->spent[d].assign(tapes_->outputs[d].size(), 0);
  std::vector<Tensor> inputs;
  for (const auto& input : tapes_->inputs)
    inputs.push_back(input.whole);
  std::vector<Tensor> parameters;
  for (const Tensor& p : parameters_)
    if (p.requires_grad()) parameters.push_back(p);
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const autograd::MultiFormula formula =
      [set = set_, rows = rows_, tapes = tapes_, gradient = std::move(gradient), parameters](
          const std::vector<Tensor>& dys) {
        return backward(set, rows, tapes, gradient, dys, parameters);
      };
  outputs = autograd::record("data_parallel", std::move(outputs), std::move(inputs), formula);
  autograd::separate_outputs(outputs);
  return outputs;
}

void GatheredCall::on_output_device(const std::function<void()>& body) const {
  const ContextScope scope([](Context& c) { c.phase = Phase::gather; });
  Worker& worker = logical_device(output_device_).worker();
  if (rows_.size() == 1 || worker.is_current()) {
    body();
  } else {
    const Deadline deadline(deadline_, {output_device_});
    Ticket ticket = worker.submit(body);
    if (std::exception_ptr error = outcome(ticket, deadline))
      std::rethrow_exception(std::move(error));
  }
}

std::vector<Tensor> GatheredCall::join(std::vector<OutputParts>& parts) {
  std::vector<Tensor> joined;
  std::vector<Place> places;
  on_output_device([&] { places = gather_on_device(parts, joined); });
  if (!has_tape(*tapes_)) return joined;
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < joined.size(); ++k) {
    places[k].recorded = outputs.size();
    if (joined[k].defined()) outputs.push_back(joined[k]);
  }
  record(
      std::move(outputs),
      [places](const std::vector<Tensor>& dys, std::size_t device, std::size_t k, Device target) {
        const Tensor& dy = dys[places[k].recorded];
        return dy.defined() ? part_of(dy, places[k], device, target) : dy;
      });
  return joined;
}

std::vector<std::vector<Tensor>> GatheredCall::keep_distributed() {
  std::vector<std::vector<Tensor>> kept = tapes_->outputs;
  std::vector<std::vector<std::size_t>> recorded(kept.size());
  std::vector<Tensor> outputs;
  for (std::size_t r = 0; r < kept.size(); ++r) {
    for (Tensor& x : kept[r]) {
      recorded[r].push_back(outputs.size());
      if (!x.defined()) continue;
      x = x.detach();
      outputs.push_back(x);
    }
  }
  if (!has_tape(*tapes_)) return kept;
  record(std::move(outputs),
         [recorded](const std::vector<Tensor>& dys, std::size_t device, std::size_t k, Device) {
           return dys[recorded[device][k]];
         });
  return kept;
}

}  // namespace tandem::parallel::detail
