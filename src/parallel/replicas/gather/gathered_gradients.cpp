// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/gather/gathered_gradients.hpp"

#include <cstddef>
#include <utility>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "autograd/outside_tensors.hpp"
#include "parallel/replicas/module/module_parameters.hpp"

// Note [Gradients of gradients]: the replicas' tapes begin with leaves of their own (parts of the
// inputs, their parameters). A gradient of them is again on those tapes, as a function of the same
// leaves and of the gradients that came in, which get leaves too. So all replicas' gradients are
// one op on the caller's tape, from what stands for the leaves there (`outside`) to the gradients;
// its backward is the same once more, as often as somebody asks.
namespace tandem::parallel::detail {
namespace {

using ByDevice = std::vector<std::vector<Tensor>>;

/// Tapes of the replicas, each on its own device.
struct Tapes {
  std::shared_ptr<ReplicaSet> set;
  std::vector<RowRange> rows;
  ByDevice roots;
  ByDevice leaves;
  ByDevice outside;  // on the caller's tape: what the leaves are copies of
  bool retain = true;
};

std::vector<Tensor> flat(const ByDevice& tensors) {
  std::vector<Tensor> all;
  for (const auto& own : tensors)
    all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<Tensor> defined_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> defined;
  for (const Tensor& x : tensors)
    if (x.defined()) defined.push_back(x);
  return defined;
}

/// The reverse of defined_of(like): undefined where that is.
std::vector<Tensor> placed(const std::vector<Tensor>& tensors, const std::vector<Tensor>& like) {
  std::vector<Tensor> all;
  auto next = tensors.begin();
  for (const Tensor& x : like)
    all.push_back(x.defined() ? *next++ : Tensor());
  return all;
}

/// The reverse of flat, into lists as long as `like`'s.
ByDevice by_device(const std::vector<Tensor>& tensors, const ByDevice& like) {
  ByDevice result;
  auto next = tensors.begin();
  for (const auto& own : like) {
    result.emplace_back(next, next + static_cast<std::ptrdiff_t>(own.size()));
    next += static_cast<std::ptrdiff_t>(own.size());
  }
  return result;
}

/// A tensor of the same values that is not on the tape.
Tensor alias(const Tensor& x) {
  return x.defined() ? x.detach() : x;
}

ByDevice gradients_of(const std::shared_ptr<const Tapes>& tapes, const ByDevice& dys);

/// The replicas' gradients `values` as one op on the caller's tape.
ByDevice recorded(const std::shared_ptr<const Tapes>& tapes,
                  const ByDevice& values,
                  const ByDevice& dys,
                  const ByDevice& dy_leaves) {
  auto next = std::make_shared<Tapes>(*tapes);
  next->roots = values;
  std::vector<Tensor> outputs;
  for (std::size_t d = 0; d < values.size(); ++d) {
    for (std::size_t i = 0; i < dys[d].size(); ++i) {
      if (!dys[d][i].defined()) continue;
      next->leaves[d].push_back(dy_leaves[d][i]);
      next->outside[d].push_back(dys[d][i]);
    }
    for (const Tensor& value : values[d])
      outputs.push_back(alias(value));
  }
  std::vector<Tensor> defined = defined_of(outputs);
  if (defined.empty()) return values;
  autograd::record("replica_gradients",
                   std::move(defined),
                   defined_of(flat(next->outside)),
                   [next](const std::vector<Tensor>& ddys) {
                     const ByDevice found = gradients_of(
                         next, by_device(placed(ddys, flat(next->roots)), next->roots));
                     autograd::Gradients result;
                     for (std::size_t d = 0; d < found.size(); ++d) {
                       for (std::size_t i = 0; i < found[d].size(); ++i)
                         if (next->outside[d][i].defined()) result.push_back(found[d][i]);
                     }
                     return result;
                   });
  return by_device(outputs, values);
}

/// By device, the gradients of the leaves; on the caller's tape in grad mode.
ByDevice gradients_of(const std::shared_ptr<const Tapes>& tapes, const ByDevice& dys) {
  const bool taped = context().grad_enabled;
  const auto dy_leaves = std::make_shared<ByDevice>(dys);
  for (auto& own : *dy_leaves) {
    for (Tensor& dy : own) {
      dy = alias(dy);
      if (dy.defined() && taped) dy.requires_grad_();
    }
  }
  const auto values = std::make_shared<ByDevice>(tapes->leaves.size());
  tapes->set->on_replicas(tapes->rows, [tapes, dy_leaves, values, taped](const Replica& r) {
    const auto d = static_cast<std::size_t>(r.index);
    for (const Tensor& dy : (*dy_leaves)[d])  // a leaf of this replica's tape from now on
      if (dy.defined() && taped) autograd::mark_realm(dy, autograd::current_realm());
    std::vector<Tensor> roots, gradients;
    for (std::size_t i = 0; i < tapes->roots[d].size(); ++i) {
      const Tensor& root = tapes->roots[d][i];
      const Tensor& dy = (*dy_leaves)[d][i];
      if (!root.defined() || !root.requires_grad() || !dy.defined()) continue;
      roots.push_back(root);
      gradients.push_back(dy);
    }
    (*values)[d].resize(tapes->leaves[d].size());
    if (roots.empty()) return;
    const autograd::BackwardOptions options{.retain_graph = tapes->retain, .create_graph = taped};
    (*values)[d] = placed(autograd::grad(roots, defined_of(tapes->leaves[d]), gradients, options),
                          tapes->leaves[d]);
  });
  for (std::size_t d = 0; d < values->size(); ++d)  // a device without rows has not run
    (*values)[d].resize(tapes->leaves[d].size());
  return taped ? recorded(tapes, *values, dys, *dy_leaves) : *values;
}

/// The parts of `whole`, which the replicas have, on the caller's tape.
std::vector<Tensor> spread(const Tensor& whole,
                           const std::vector<Tensor>& parts,
                           std::function<Tensor(const std::vector<Tensor>&)> join) {
  std::vector<Tensor> outputs;
  for (const Tensor& part : parts)
    outputs.push_back(alias(part));
  autograd::record("spread",
                   defined_of(outputs),
                   {whole},
                   [parts, join = std::move(join)](const std::vector<Tensor>& dys) {
                     return autograd::Gradients{join(placed(dys, parts))};
                   });
  return outputs;
}

/// By device, the gradients of its outputs.
ByDevice for_outputs(const ReplicaTapes& tapes,
                     const GradientOf& gradient_of,
                     const std::vector<Tensor>& dys) {
  ByDevice own(tapes.outputs.size());
  for (std::size_t d = 0; d < own.size(); ++d) {
    for (std::size_t k = 0; k < tapes.outputs[d].size(); ++k) {
      const Tensor& output = tapes.outputs[d][k];
      own[d].push_back(output.defined() ? gradient_of(dys, d, k, output.device()) : Tensor());
    }
  }
  return own;
}

Tensor sum_of(const std::vector<Tensor>& parts, Device device) {
  Tensor total;
  for (const Tensor& part : parts) {
    if (!part.defined()) continue;
    const Tensor here = part.to(device);
    total = total.defined() ? total + here : here;
  }
  return total;
}

}  // namespace

void spend(ReplicaTapes& tapes, std::size_t device, std::size_t output) {
  tapes.outputs[device][output] = Tensor();
  tapes.spent[device][output] = 1;
}

Tensor join_gradients(const ReplicaTapes::Input& input, const std::vector<Tensor>& parts) {
  const ContextScope scope([](Context& c) { c.category = Category::gradient; });
  std::vector<Tensor> all;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    if (!input.parts[d].defined()) continue;
    all.push_back(
        (parts[d].defined() ? parts[d] : zeros_like(input.parts[d])).to(input.whole.device()));
  }
  return input.split ? cat(all, input.dim) : sum_of(all, input.whole.device());
}

autograd::Gradients gradients_through(const std::shared_ptr<ReplicaSet>& set,
                                      const std::vector<RowRange>& rows,
                                      const std::shared_ptr<ReplicaTapes>& replica_tapes,
                                      const GradientOf& gradient_of,
                                      const std::vector<Tensor>& dys,
                                      const std::vector<Tensor>& parameters) {
  const std::size_t devices = rows.size(), inputs = replica_tapes->inputs.size();
  const bool taped = context().grad_enabled;
  const auto tapes = std::make_shared<Tapes>();
  *tapes = {set,
            rows,
            replica_tapes->outputs,
            ByDevice(devices),
            ByDevice(devices),
            taped || context().retains_graph};
  const auto add = [&](const Tensor& whole, const std::vector<Tensor>& parts, auto join) {
    const std::vector<Tensor> outside =
        taped ? spread(whole, parts, std::move(join)) : std::vector<Tensor>(devices);
    for (std::size_t d = 0; d < devices; ++d) {
      tapes->leaves[d].push_back(parts[d]);
      tapes->outside[d].push_back(outside[d]);
    }
  };
  for (const ReplicaTapes::Input& input : replica_tapes->inputs) {
    add(input.whole, input.parts, [input](const std::vector<Tensor>& parts) {
      return join_gradients(input, parts);
    });
  }
  const Device owner = set->devices().front();
  const std::vector<std::vector<Tensor>> copies = set->parameters().training();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    std::vector<Tensor> parts(devices);
    for (std::size_t d = 0; d < devices; ++d)
      if (is_active(rows, d)) parts[d] = copies[d][p];
    add(parameters[p], parts, [owner](const std::vector<Tensor>& all) {
      return sum_of(all, owner);
    });
  }
  const ByDevice own = for_outputs(*replica_tapes, gradient_of, dys);
  const ByDevice found = gradients_of(tapes, own);
  for (std::size_t d = 0; d < own.size() && !tapes->retain; ++d)
    for (std::size_t k = 0; k < own[d].size(); ++k)
      if (own[d][k].defined()) spend(*replica_tapes, d, k);
  autograd::Gradients result;
  for (std::size_t i = 0; i < inputs + parameters.size(); ++i) {
    std::vector<Tensor> parts;
    for (std::size_t d = 0; d < devices; ++d)
      parts.push_back(found[d][i]);
    result.push_back(i < inputs ? join_gradients(replica_tapes->inputs[i], parts)
                                : sum_of(parts, owner));
  }
  return result;
}

}  // namespace tandem::parallel::detail
