// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/engine.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "autograd/backward_context.hpp"
#include "autograd/leaf.hpp"
#include "autograd/outside_tensors.hpp"
#include "autograd/root_gradients.hpp"

namespace tandem::autograd {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(1);

/// Ends a lane because another one failed, and tells of that failure itself.
struct Stopped {};

}  // namespace

Engine::Engine(const std::vector<Tensor>& roots,
               std::vector<Tensor> gradients,
               std::vector<Tensor> captures,
               BackwardOptions options)
    : options_(options),
      caller_(share_context()),
      leaf_context_(leaf_context()),
      captures_(std::move(captures)) {
  options_.retain_graph |= options_.create_graph;
  gradients = gradients_of_roots(roots, std::move(gradients));
  collect(roots);
  for (std::size_t i = 0; i < roots.size(); ++i)
    deliver(edge_here(roots[i]), std::move(gradients[i]));
}

/// A replica's thread, or a device's, goes through the whole tape itself, as it went through the
/// forward: another device's thread may be waiting for this one.
bool Engine::has_own_thread(Device device) const {
  return caller_->rows.end < 0 && !logical_device(device).worker().is_current();
}

Engine::Lane& Engine::lane_of(Device device) {
  return lanes_[merged_ ? lanes_.begin()->first : device];
}

/// Joins all lanes to one where the caller's thread runs them.
void Engine::merge_lanes() {
  const auto own = [this](const auto& lane) { return !has_own_thread(lane.first); };
  if (lanes_.size() == 1 || std::ranges::none_of(lanes_, own)) return;
  Lane& all = lanes_.begin()->second;
  while (lanes_.size() > 1) {
    const auto last = std::prev(lanes_.end());
    std::ranges::move(last->second.nodes, std::back_inserter(all.nodes));
    all.leaves_left += last->second.leaves_left;
    lanes_.erase(last);
  }
  merged_ = true;
}

void Engine::collect(const std::vector<Tensor>& roots) {
  std::vector<std::shared_ptr<Node>> open;
  const auto visit = [&](const Edge& edge) {
    if (edge.node != nullptr) {
      auto [at, fresh] = nodes_.try_emplace(edge.node.get());
      ++at->second.pending;
      if (!fresh) return;
      at->second.dys.resize(edge.node->outputs.size());
      lane_of(edge.node->device).nodes.push_back(edge.node);
      open.push_back(edge.node);
    } else if (edge.leaf != nullptr) {
      ++leaves_[edge.leaf.get()].pending;
    }
  };
  for (const Tensor& root : roots)
    visit(edge_here(root));
  while (!open.empty()) {
    const auto node = std::move(open.back());
    open.pop_back();
    for (const Edge& edge : node->inputs)
      visit(edge);
  }
  for (auto& [leaf, state] : leaves_)
    ++lane_of(leaf->buffer->device()).leaves_left;
  merge_lanes();
  for (auto& [device, lane] : lanes_) {
    lane.device = device;
    std::ranges::sort(lane.nodes, std::ranges::greater{}, &Node::sequence);
    lane.intervals.expect(lane.nodes);
  }
  if (!captures_.empty()) prune();
}

void Engine::prune() {
  for (auto& [leaf, state] : leaves_)
    state.needed = captures_.has_leaf(leaf);
  std::vector<const Node*> all;
  for (const auto& [node, state] : nodes_)
    all.push_back(node);
  std::ranges::sort(all, {}, &Node::sequence);  // inputs before what is made of them
  for (const Node* node : all) {
    nodes_[node].needed =
        std::ranges::any_of(node->inputs, [this](const Edge& e) { return needs(e); });
  }
}

/// The gradient that goes there leads to one that is asked for.
bool Engine::needs(const Edge& e) const {
  if (e.leaf != nullptr) return leaves_.at(e.leaf.get()).needed;
  return e.node != nullptr && (nodes_.at(e.node.get()).needed || captures_.has(e));
}

std::shared_ptr<const UnwantedInputs> Engine::unwanted_inputs(const Node& node) const {
  if (captures_.empty()) return nullptr;
  auto unwanted = std::make_shared<UnwantedInputs>();
  for (const Edge& e : node.inputs)
    if (e.wanted() && !needs(e)) unwanted->edges.push_back(e);
  return unwanted->edges.empty() ? nullptr : unwanted;
}

std::shared_ptr<const GradientPlaces> Engine::places_for(const Node& node) {
  if (options_.create_graph || !captures_.empty()) return nullptr;
  const bool has_leaves =
      std::ranges::any_of(node.inputs, [](const Edge& e) { return e.leaf != nullptr; });
  if (!has_leaves) return nullptr;
  return std::make_shared<GradientPlaces>(GradientPlaces{
      [this, &node](const Tensor& input) { return place_for(&input.impl(), node.device); }});
}

Tensor Engine::place_for(const TensorImpl* input, Device device) {
  const auto found = leaves_.find(input);
  if (found == leaves_.end() || !takes_whole_gradient(*input, device)) return {};
  const std::scoped_lock lock(mutex_);
  const LeafState& state = found->second;
  return state.pending == 1 && !state.gradient.defined() ? meta_of(*input)->bound : Tensor();
}

std::vector<Tensor> Engine::run() {
  if (lanes_.size() == 1) {  // on the caller's thread, like its forward
    run_lane(lanes_.begin()->second);
    return captures_.take();
  }
  for (const auto& [device, lane] : lanes_)
    logical_device(device).worker();  // has its thread, or throws before a lane runs
  std::vector<Ticket> tickets;
  std::exception_ptr first;
  try {
    const auto together = Runtime::instance().hold_queues();
    for (auto& [device, lane] : lanes_)
      tickets.push_back(
          logical_device(device).worker().submit([this, &lane = lane] { run_lane(lane); }));
  } catch (...) {  // no memory: those before it must not wait for it
    first = std::current_exception();
    fail();
  }
  for (Ticket& ticket : tickets) {
    // Lanes look at the deadline themselves; their end is what makes this object free to go.
    std::exception_ptr error = ticket.outcome();
    if (error != nullptr && first == nullptr) first = std::move(error);
  }
  if (first != nullptr) std::rethrow_exception(std::move(first));
  return captures_.take();
}

void Engine::fail() noexcept {
  const std::scoped_lock lock(mutex_);
  failed_ = true;
  condition_.notify_all();
}

void Engine::run_lane(Lane& lane) {
  try {
    for (auto& node : lane.nodes)
      in_intervals(*node, lane);
    for (;;) {  // leaves whose gradients come from other devices
      std::unique_lock lock(mutex_);
      const auto ready = [&] {
        return failed_ || lane.leaves_left == 0 || !lane.ready_leaves.empty();
      };
      while (!condition_.wait_for(lock, kPoll, ready))
        help(lock, lane);
      if (failed_ || lane.leaves_left == 0) break;
      lock.unlock();
      run_leaves(lane);
    }
    // All of this device's work is done only when no other lane can hand it tensors to free.
    const std::scoped_lock lock(mutex_);
    lane.foreign.clear();
  } catch (const Stopped&) {
    return;
  } catch (...) {
    fail();
    throw;
  }
}

void Engine::in_intervals(Node& node, Lane& lane) {
  const auto tell = [&](void (IntervalCalls::*what)(const Node&)) {
    if (tape_context(*node.context).interval == nullptr) return;
    const ContextScope scope(leaf_context_);
    (lane.intervals.*what)(node);
  };
  tell(&IntervalCalls::enter);
  run_node(node, lane);
  run_leaves(lane);
  tell(&IntervalCalls::leave);
}

/// A node on another device may need this thread for a part of its own work, as the backward of
/// dp(x) does for its replicas: a lane that waits runs such jobs.
void Engine::help(std::unique_lock<std::mutex>& lock, const Lane& lane) {
  check_alive("backward");
  Worker& worker = logical_device(lane.device).worker();
  if (!worker.is_current()) return;
  lock.unlock();
  worker.run_next();
  lock.lock();
}

void Engine::wait_for(std::unique_lock<std::mutex>& lock, const NodeState& state, Lane& lane) {
  const auto ready = [&] { return failed_ || state.pending == 0; };
  while (!ready()) {
    if (!lane.ready_leaves.empty()) {
      lock.unlock();
      run_leaves(lane);
      lock.lock();
      continue;
    }
    if (!condition_.wait_for(lock, kPoll, [&] { return ready() || !lane.ready_leaves.empty(); }))
      help(lock, lane);
  }
  if (failed_) throw Stopped{};
}

std::vector<Tensor> Engine::take_gradients(const Node& node, NodeState& state) {
  std::vector<Tensor> dys = std::move(state.dys);
  for (std::size_t i = 0; i < dys.size(); ++i) {
    if (!dys[i].defined()) continue;
    for (const auto& [id, hook] : node.outputs[i].hooks) {
      if (Tensor changed = hook(dys[i]); changed.defined()) dys[i] = std::move(changed);
    }
    captures_.note(node, i, dys[i]);
  }
  return dys;
}

void Engine::run_node(Node& node, Lane& lane) {
  NodeState* state = nullptr;
  {
    std::unique_lock lock(mutex_);
    state = &nodes_.at(&node);
    wait_for(lock, *state, lane);
  }
  const ContextScope scope(backward_context(*node.context,
                                            *caller_,
                                            options_,
                                            !captures_.empty(),
                                            unwanted_inputs(node),
                                            places_for(node)));
  std::vector<Tensor> dys = take_gradients(node, *state);
  const bool any = std::ranges::any_of(dys, &Tensor::defined);
  Gradients gradients;
  if (any && state->needed) {
    gradients = node.run(dys, options_.create_graph);
    TANDEM_CHECK(gradients.size() == node.inputs.size(),
                 "backward of '",
                 node.name,
                 "': ",
                 node.inputs.size(),
                 " inputs, but its formula returned ",
                 gradients.size(),
                 " gradients");
  }
  gradients.resize(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    TANDEM_CHECK(!gradients[i].defined() || !node.inputs[i].wanted() ||
                     gradients[i].shape() == node.input_shapes[i],
                 "backward of '",
                 node.name,
                 "': the gradient of input ",
                 i,
                 " has shape ",
                 gradients[i].defined() ? gradients[i].shape() : Shape{},
                 ", but the input has ",
                 node.input_shapes[i]);
    deliver(node.inputs[i], std::move(gradients[i]));
  }
  if (!options_.retain_graph) node.spend(dys);
  const std::scoped_lock lock(mutex_);
  for (Tensor& dy : dys) {
    if (!merged_ && dy.defined() && dy.device() != node.device) {
      if (const auto owner = lanes_.find(dy.device()); owner != lanes_.end())
        owner->second.foreign.push_back(std::move(dy));
    }
  }
}

void Engine::add(Tensor& slot, Tensor gradient) {
  for (;;) {
    Tensor other;
    {
      const std::scoped_lock lock(mutex_);
      if (!slot.defined()) {
        slot = std::move(gradient);
        return;
      }
      other = std::exchange(slot, Tensor());
    }
    // Outside the lock: this is an op.
    // An expanded gradient holds one element for many: it cannot take up others.
    const bool dense = other.is_contiguous() || other.is_contiguous(MemoryFormat::channels_last);
    const bool own = !options_.create_graph && dense && other.shared().use_count() == 1 &&
                     other.impl().buffer.use_count() == 1 &&
                     !other.buffer().lending().is_adopted() && same_layout(other, gradient);
    gradient = own ? other.add_(gradient) : other.add(gradient);
  }
}

void Engine::deliver(const Edge& edge, Tensor gradient) {
  if (edge.leaf != nullptr) {
    LeafState& state = leaves_.at(edge.leaf.get());
    if (gradient.defined() && state.needed) add(state.gradient, std::move(gradient));
    const std::scoped_lock lock(mutex_);
    if (--state.pending > 0) return;
    lane_of(edge.leaf->buffer->device()).ready_leaves.push_back(edge.leaf);
    condition_.notify_all();
  } else if (edge.node != nullptr) {
    NodeState& state = nodes_.at(edge.node.get());
    if (gradient.defined())
      add(state.dys[static_cast<std::size_t>(edge.output)], std::move(gradient));
    const std::scoped_lock lock(mutex_);
    if (--state.pending == 0) condition_.notify_all();
  }
}

void Engine::run_leaves(Lane& lane) {
  for (;;) {
    std::shared_ptr<TensorImpl> leaf;
    Tensor gradient;
    {
      const std::scoped_lock lock(mutex_);
      if (lane.ready_leaves.empty()) return;
      leaf = std::move(lane.ready_leaves.back());
      lane.ready_leaves.pop_back();
      gradient = std::move(leaves_.at(leaf.get()).gradient);
    }
    if (gradient.defined()) {
      if (captures_.empty()) {
        const ContextScope scope(leaf_context_);
        accumulate(leaf, std::move(gradient), options_.create_graph);
      } else {
        // In a replica it is a part of the gradient, which is none of a hook's business.
        if (tape_context(*leaf_context_).outside == nullptr)
          gradient = hooked(*meta_of(*leaf), std::move(gradient));
        captures_.note(leaf, gradient);
      }
    }
    const std::scoped_lock lock(mutex_);
    if (--lane.leaves_left == 0) condition_.notify_all();
  }
}

}  // namespace tandem::autograd
