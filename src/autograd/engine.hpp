// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "autograd/captures.hpp"
#include "autograd/interval_calls.hpp"
#include "autograd/node.hpp"

namespace tandem::autograd {

/// One backward: the part of the tape below its roots, run once.
///
/// Each device has a list of its nodes, latest first, and runs them strictly in this order. Nodes
/// are numbered as they are made, so a gradient can only come from a node with a higher number.
/// Therefore the highest unfinished node is always ready, and waiting in order cannot deadlock. The
/// fixed order also makes all replicas call their collectives in the same order.
///
/// Each device's own thread runs its list. If the caller is on a replica's thread or a device's
/// thread, it runs all the lists itself, merged into one.
class Engine {
 public:
  /// @param captures  tensors whose gradients are returned instead of accumulated; empty:
  ///                  accumulate.
  Engine(const std::vector<Tensor>& roots,
         std::vector<Tensor> gradients,
         std::vector<Tensor> captures,
         BackwardOptions options);
  /// @return the captured gradients, in order.
  std::vector<Tensor> run();

 private:
  struct NodeState {
    std::vector<Tensor> dys;  // by output
    int pending = 0;          // gradients still to come
    bool needed = true;
  };
  struct LeafState {
    Tensor gradient;
    int pending = 0;
    bool needed = true;
  };
  struct Lane {  // one device's part
    Device device = {};
    std::vector<std::shared_ptr<Node>> nodes;
    IntervalCalls intervals;
    std::vector<std::shared_ptr<TensorImpl>> ready_leaves;
    std::vector<Tensor> foreign;  // made elsewhere, to be freed by this device's thread
    int leaves_left = 0;
  };

  void collect(const std::vector<Tensor>& roots);
  bool has_own_thread(Device device) const;
  void merge_lanes();
  Lane& lane_of(Device device);
  void prune();
  void run_lane(Lane& lane);
  void run_leaves(Lane& lane);
  void in_intervals(Node& node, Lane& lane);
  void run_node(Node& node, Lane& lane);
  bool needs(const Edge& edge) const;
  std::shared_ptr<const UnwantedInputs> unwanted_inputs(const Node& node) const;
  std::shared_ptr<const GradientPlaces> places_for(const Node& node);
  Tensor place_for(const TensorImpl* input, Device device);
  std::vector<Tensor> take_gradients(const Node& node, NodeState& state);
  void deliver(const Edge& edge, Tensor gradient);
  void add(Tensor& slot, Tensor gradient);
  void wait_for(std::unique_lock<std::mutex>& lock, const NodeState& state, Lane& lane);
  void help(std::unique_lock<std::mutex>& lock, const Lane& lane);
  void fail() noexcept;

  BackwardOptions options_;
  std::shared_ptr<const Context> caller_;
  std::shared_ptr<const Context> leaf_context_;
  Captures captures_;

  std::mutex mutex_;  // guards all below while lanes run
  std::condition_variable condition_;
  std::unordered_map<const Node*, NodeState> nodes_;
  std::unordered_map<const TensorImpl*, LeafState> leaves_;
  std::map<Device, Lane> lanes_;
  bool merged_ = false;  // one lane has the nodes of all devices
  bool failed_ = false;
};

}  // namespace tandem::autograd
