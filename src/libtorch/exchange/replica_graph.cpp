// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/exchange/replica_graph.hpp"

#include <unordered_map>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace tandem::libtorch {
namespace {

using torch::autograd::Node;

/// Groups of outputs, which are joined where their graphs meet.
class Groups {
 public:
  explicit Groups(std::size_t count) : parents_(count) {
    for (std::size_t i = 0; i < count; ++i)
      parents_[i] = i;
  }
  std::size_t find(std::size_t i) const {
    while (parents_[i] != i)
      i = parents_[i];
    return i;
  }
  void join(std::size_t i, std::size_t k) { parents_[find(i)] = find(k); }

 private:
  std::vector<std::size_t> parents_;
};

/// Whether the node is an op of the replica: neither a leaf nor the border to other graphs.
bool is_op(const Node& node) {
  return !node.next_edges().empty() && dynamic_cast<const ReplicaBorder*>(&node) == nullptr;
}

}  // namespace

std::vector<std::vector<std::size_t>> separate_graphs(const std::vector<at::Tensor>& outputs,
                                                      const std::vector<std::size_t>& on_graph) {
  Groups groups(on_graph.size());
  std::unordered_map<const Node*, std::size_t> owners;  // the first output that has led there
  std::size_t meets = on_graph.size();                  // an output whose backward does; none yet
  for (std::size_t i = 0; i < on_graph.size(); ++i) {
    std::vector<const Node*> open;
    const auto visit = [&](const Node* node) {
      if (node == nullptr || !is_op(*node)) return;
      const auto [owner, is_new] = owners.try_emplace(node, i);
      if (is_new)
        open.push_back(node);
      else
        groups.join(i, owner->second);
    };
    visit(torch::autograd::impl::gradient_edge(outputs[on_graph[i]]).function.get());
    while (!open.empty()) {
      const Node* const node = open.back();
      open.pop_back();
      if (const auto* meeting = dynamic_cast<const MeetingNode*>(node);
          meeting != nullptr && meeting->meets()) {
        if (meets < on_graph.size()) groups.join(i, meets);
        meets = i;
      }
      for (const auto& edge : node->next_edges())
        visit(edge.function.get());
    }
  }
  std::unordered_map<std::size_t, std::size_t> numbers;  // of groups
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < on_graph.size(); ++i) {
    const auto [number, is_new] = numbers.try_emplace(groups.find(i), all.size());
    if (is_new) all.emplace_back();
    all[number->second].push_back(on_graph[i]);
  }
  return all;
}

}  // namespace tandem::libtorch
