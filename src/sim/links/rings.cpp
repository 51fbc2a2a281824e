// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/rings.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "tandem/core/check.hpp"

namespace tandem::sim {
namespace {

// A denser mesh than any machine has would take years; the best packing so far is then the answer.
constexpr int kMostSteps = 1 << 22;

/// The links among the first n GPUs of a node.
class Mesh {
 public:
  Mesh(const NvLinks& nvlink, int n) : n_(static_cast<std::size_t>(n)), links_(n_ * n_) {
    for (const NvLinkPair& pair : nvlink.pairs) {
      if (pair.first >= n || pair.second >= n) continue;
      take(
          static_cast<std::size_t>(pair.first), static_cast<std::size_t>(pair.second), -pair.links);
    }
  }

  std::size_t size() const { return n_; }
  int links(std::size_t a, std::size_t b) const { return links_[a * n_ + b]; }
  void take(std::size_t a, std::size_t b, int links) {
    links_[a * n_ + b] -= links;
    links_[b * n_ + a] -= links;
  }
  /// A ring takes two links of each GPU.
  int most_rings() const {
    int least = links_of(0) / 2;
    for (std::size_t gpu = 1; gpu < n_; ++gpu)
      least = std::min(least, links_of(gpu) / 2);
    return least;
  }

 private:
  int links_of(std::size_t gpu) const {
    const auto row = links_.begin() + static_cast<std::ptrdiff_t>(gpu * n_);
    return std::accumulate(row, row + static_cast<std::ptrdiff_t>(n_), 0);
  }

  std::size_t n_;
  std::vector<int> links_;
};

using Order = std::vector<std::size_t>;  // GPUs of a cycle or chain

/// Calls `use` with each order of all GPUs, from `order` on, of which neighbours are linked, until
/// it returns true.
template <class Use>
bool each_chain(const Mesh& mesh, Order& order, const Use& use) {
  if (order.size() == mesh.size()) return use(order);
  for (std::size_t next = 0; next < mesh.size(); ++next) {
    if (mesh.links(order.back(), next) <= 0 || std::ranges::find(order, next) != order.end())
      continue;
    order.push_back(next);
    const bool is_done = each_chain(mesh, order, use);
    order.pop_back();
    if (is_done) return true;
  }
  return false;
}

/// Every cycle once: from GPU 0, in one of its two directions.
std::vector<Order> all_cycles(const Mesh& mesh) {
  std::vector<Order> cycles;
  Order order{0};
  each_chain(mesh, order, [&](const Order& found) {
    if (found[1] < found.back() && mesh.links(found.back(), 0) > 0) cycles.push_back(found);
    return false;
  });
  return cycles;
}

/// Searches for the most cycles that share no link.
class Packing {
 public:
  explicit Packing(const Mesh& mesh)
      : mesh_(mesh), cycles_(all_cycles(mesh)), most_(mesh.most_rings()) {}

  int best() {
    extend(0, 0);
    return best_;
  }

 private:
  void extend(std::size_t first, int taken) {
    best_ = std::max(best_, taken);
    for (std::size_t i = first; i < cycles_.size(); ++i) {
      if (best_ == most_ || ++steps_ > kMostSteps) return;
      if (!fits(cycles_[i])) continue;
      take(cycles_[i], 1);
      if (taken + 1 + mesh_.most_rings() > best_) extend(i, taken + 1);
      take(cycles_[i], -1);
    }
  }

  bool fits(const Order& cycle) const {
    for (std::size_t i = 0; i < cycle.size(); ++i)
      if (mesh_.links(cycle[i], cycle[(i + 1) % cycle.size()]) <= 0) return false;
    return true;
  }

  void take(const Order& cycle, int links) {
    for (std::size_t i = 0; i < cycle.size(); ++i)
      mesh_.take(cycle[i], cycle[(i + 1) % cycle.size()], links);
  }

  Mesh mesh_;
  std::vector<Order> cycles_;
  int most_, best_ = 0, steps_ = 0;
};

Mesh checked_mesh(const char* function, const Cluster& cluster, int n) {
  TANDEM_CHECK(cluster.nvlink && cluster.nvlink->topology == NvLinkTopology::pairs,
               function,
               ": the NVLinks of ",
               cluster.name,
               " do not join pairs of GPUs");
  TANDEM_CHECK(n >= 2 && n <= cluster.gpus.count,
               function,
               ": ",
               n,
               " GPUs; give from 2 to the ",
               cluster.gpus.count,
               " of a node of ",
               cluster.name);
  return {*cluster.nvlink, n};
}

}  // namespace

int ring_count(const Cluster& cluster, int n) {
  const Mesh mesh = checked_mesh("ring_count", cluster, n);
  return n == 2 ? mesh.links(0, 1) : 2 * Packing(mesh).best();
}

bool has_chain(const Cluster& cluster, int n) {
  const Mesh mesh = checked_mesh("has_chain", cluster, n);
  for (std::size_t first = 0; first < mesh.size(); ++first) {
    Order order{first};
    if (each_chain(mesh, order, [](const Order&) { return true; })) return true;
  }
  return false;
}

}  // namespace tandem::sim
