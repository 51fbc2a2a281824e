// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/outside_tensors.hpp"

#include <algorithm>

#include "tandem/autograd/tape_context.hpp"

namespace tandem::autograd {
namespace {

std::uint64_t realm_of(const Context& c) noexcept {
  const auto& outside = tape_context(c).outside;
  return outside == nullptr ? 0 : outside->realm();
}

}  // namespace

const Tensor& OutsideTensors::leaf_for(const Tensor& x) {
  const Edge edge = edge_of(x);
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return edge_of(entry.outside) == edge; });
  if (known != entries_.end()) return known->leaf;
  Tensor leaf = x.detach();
  leaf.requires_grad_();
  mark_realm(leaf, realm_);
  entries_.push_back({x, leaf});
  return entries_.back().leaf;
}

std::uint64_t current_realm() noexcept {
  return realm_of(context());
}

void mark_realm(const Tensor& leaf, std::uint64_t realm) {
  make_meta(leaf.impl()).realm = realm;
}

Edge edge_here(const Tensor& x) {
  Edge edge = edge_of(x);
  const auto& outside = tape_context().outside;
  if (outside == nullptr || !edge.wanted()) return edge;
  const std::uint64_t realm =
      edge.leaf != nullptr ? meta_of(*edge.leaf)->realm : realm_of(*edge.node->context);
  return realm == outside->realm() ? edge : edge_of(outside->leaf_for(x));
}

}  // namespace tandem::autograd
