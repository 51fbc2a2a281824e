// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/broadcast_parameters.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/gradient_gate.hpp"
#include "tandem/runtime/context.hpp"

#include "libtorch/exchange/replica_graph.hpp"

namespace tandem::libtorch {
namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::variable_list;
namespace impl = torch::autograd::impl;
using Gradients = BroadcastParameters::Gradients;
using Reduce = BroadcastParameters::Reduce;

/// A node with this number is the first to run among those that can, as AccumulateGrad is.
constexpr std::uint64_t kFirst = std::numeric_limits<std::uint64_t>::max();

/// Sums over the devices, in their order, by differentiable ops.
/// @param targets  where the sum of each parameter belongs.
variable_list sums_in_order(const Gradients& gradients, const std::vector<c10::Device>& targets) {
  variable_list sums(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (const variable_list& of_device : gradients) {
      if (!of_device[i].defined()) continue;
      const at::Tensor here = of_device[i].to(targets[i]);
      sums[i] = sums[i].defined() ? sums[i] + here : here;
    }
  }
  return sums;
}

/// The broadcast of a bucket's parameters. Its inputs in backward are the gradients of device 0,
/// then those of device 1 and so on; its outputs are the sums. Both have undefined places for
/// parameters that do not require grad.
class BroadcastBucket final : public torch::autograd::Node, public ReplicaBorder {
 public:
  BroadcastBucket(std::size_t bucket,
                  std::vector<c10::Device> targets,
                  edge_list edges,
                  std::shared_ptr<const Reduce> reduce,
                  variable_list zeros_like)
      : Node(kFirst, std::move(edges)),
        bucket_(bucket),
        targets_(std::move(targets)),
        reduce_(std::move(reduce)),
        zeros_like_(std::move(zeros_like)) {}

  std::string name() const override { return "BroadcastBucket"; }

 protected:
  variable_list apply(variable_list&& inputs) override {
    std::vector<char> used(targets_.size());
    Gradients gradients(inputs.size() / targets_.size(), variable_list(targets_.size()));
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const std::size_t i = j % targets_.size();
      if (!inputs[j].defined() || !task_should_compute_output(i)) continue;
      used[i] = 1;
      gradients[j / targets_.size()][i] = std::move(inputs[j]);
    }
    if (std::find(used.begin(), used.end(), 1) == used.end()) return variable_list(used.size());
    variable_list sums = reduced(std::move(gradients));
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] == 0) sums[i] = unused(i);
    }
    return sums;
  }

 private:
  /// The gradient of a parameter that no replica has used.
  at::Tensor unused(std::size_t i) const {
    if (zeros_like_.empty() || !next_edge(i).is_valid() || !task_should_compute_output(i))
      return {};
    return at::zeros_like(zeros_like_[i], at::TensorOptions(targets_[i]));
  }
  variable_list reduced(Gradients gradients) const {
    const ContextScope scope([](Context& c) {
      c.phase = Phase::reduce;
      c.category = Category::gradient;
    });
    if (c10::GradMode::is_enabled()) {
      // Double backward enters each replica here, so its gradients are to enter together.
      for (variable_list& of_device : gradients)
        of_device = enter_replica(std::move(of_device));
      return sums_in_order(gradients, targets_);
    }
    if (!*reduce_) return sums_in_order(gradients, targets_);
    variable_list sums = (*reduce_)(bucket_, std::move(gradients));
    TANDEM_ASSERT(sums.size() == targets_.size(),
                  "the reduction of bucket ",
                  bucket_,
                  " has returned ",
                  sums.size(),
                  " sums; it has ",
                  targets_.size(),
                  " parameters");
    return sums;
  }

  std::size_t bucket_;
  std::vector<c10::Device> targets_;
  std::shared_ptr<const Reduce> reduce_;
  variable_list zeros_like_;  // the parameters; empty if those that are unused get no gradient
};

void make_leaf(const at::Tensor& x, bool requires_grad) {
  impl::set_gradient_edge(x, Edge());
  x.set_requires_grad(requires_grad);
}

void check_tensors(const std::vector<at::Tensor>& parameters,
                   const std::vector<std::vector<at::Tensor>>& replicas) {
  TANDEM_CHECK(!replicas.empty(), "BroadcastParameters: no replicas; expected one for each device");
  std::set<const c10::TensorImpl*> seen;
  const auto check_once = [&](const at::Tensor& x, const char* what, std::size_t k) {
    TANDEM_CHECK(seen.insert(x.unsafeGetTensorImpl()).second,
                 "BroadcastParameters: ",
                 what,
                 " ",
                 k,
                 " is there twice; list a shared tensor once");
  };
  for (std::size_t k = 0; k < parameters.size(); ++k)
    check_once(parameters[k], "parameter", k);
  for (const std::vector<at::Tensor>& replica : replicas) {
    TANDEM_CHECK(replica.size() == parameters.size(),
                 "BroadcastParameters: a replica has ",
                 replica.size(),
                 " tensors, and the module ",
                 parameters.size(),
                 "; list the same parameters in both");
    for (std::size_t k = 0; k < replica.size(); ++k) {
      check_once(replica[k], "a replica's tensor", k);
      TANDEM_CHECK(replica[k].sizes() == parameters[k].sizes() &&
                       replica[k].scalar_type() == parameters[k].scalar_type(),
                   "BroadcastParameters: parameter ",
                   k,
                   " has shape ",
                   parameters[k].sizes(),
                   " and dtype ",
                   parameters[k].scalar_type(),
                   ", and a replica's tensor ",
                   replica[k].sizes(),
                   " and ",
                   replica[k].scalar_type(),
                   "; make the replicas anew");
    }
  }
}

void check_buckets(const std::vector<std::vector<std::size_t>>& buckets, std::size_t count) {
  std::vector<std::size_t> all;
  for (const std::vector<std::size_t>& bucket : buckets) {
    all.insert(all.end(), bucket.begin(), bucket.end());
  }
  std::sort(all.begin(), all.end());
  bool each_once = all.size() == count;
  for (std::size_t k = 0; each_once && k < count; ++k)
    each_once = all[k] == k;
  TANDEM_CHECK(each_once,
               "BroadcastParameters: the buckets have ",
               all.size(),
               " indices of ",
               count,
               " parameters; expected each of 0 to ",
               count,
               " - 1 once");
}

}  // namespace

BroadcastParameters::BroadcastParameters(std::vector<at::Tensor> parameters,
                                         std::vector<std::vector<at::Tensor>> replicas,
                                         std::vector<std::vector<std::size_t>> buckets,
                                         Reduce reduce,
                                         UnusedGradients unused)
    : parameters_(std::move(parameters)),
      reduce_(std::make_shared<const Reduce>(std::move(reduce))),
      unused_(unused) {
  check_tensors(parameters_, replicas);
  check_buckets(buckets, parameters_.size());
  for (std::vector<at::Tensor>& tensors : replicas) {
    std::vector<std::size_t> handles(tensors.size(), std::numeric_limits<std::size_t>::max());
    replicas_.push_back({std::move(tensors), std::move(handles)});
  }
  for (std::vector<std::size_t>& members : buckets)
    buckets_.push_back({std::move(members), {}});
}

void BroadcastParameters::attach() {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    attach(b);
}

void BroadcastParameters::attach(std::size_t b) {
  Bucket& bucket = buckets_[b];
  edge_list edges;
  std::vector<c10::Device> targets;
  variable_list zeros_like;
  for (const std::size_t k : bucket.members) {
    edges.push_back(impl::gradient_edge(parameters_[k]));
    targets.push_back(parameters_[k].device());
    if (unused_ == UnusedGradients::zeros) zeros_like.push_back(parameters_[k]);
  }
  release_frozen(bucket);
  if (bucket.node && bucket.node->next_edges() == edges) return;
  if (std::none_of(edges.begin(), edges.end(), [](const Edge& e) { return e.is_valid(); })) {
    bucket.node.reset();
    return;
  }
  bucket.node = make_node<BroadcastBucket>(
      b, std::move(targets), std::move(edges), reduce_, std::move(zeros_like));
  for (Replica& replica : replicas_) {
    for (std::size_t i = 0; i < bucket.members.size(); ++i) {
      const at::Tensor& x = replica.tensors[bucket.members[i]];
      if (!bucket.node->next_edge(i).is_valid()) {
        bucket.node->add_input_metadata(torch::autograd::Node::undefined_input());
        continue;
      }
      impl::set_gradient_edge(x, Edge());
      x.set_requires_grad(false);  // of a leaf; from now on the node says it
      torch::autograd::set_history(x, bucket.node);
      std::size_t& handles = replica.handles[bucket.members[i]];
      handles = std::min(handles, static_cast<std::size_t>(x.use_count()));
    }
  }
}

void BroadcastParameters::release_frozen(const Bucket& bucket) {
  for (Replica& replica : replicas_) {
    for (const std::size_t k : bucket.members) {
      const at::Tensor& x = replica.tensors[k];
      if (parameters_[k].requires_grad()) continue;
      const bool saved = static_cast<std::size_t>(x.use_count()) > replica.handles[k];
      if (x.is_leaf() || !saved) make_leaf(x, false);
    }
  }
}

void BroadcastParameters::detach() {
  for (Bucket& bucket : buckets_)
    bucket.node.reset();
  for (Replica& replica : replicas_) {
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      make_leaf(replica.tensors[k], parameters_[k].requires_grad());
    }
  }
}

}  // namespace tandem::libtorch
