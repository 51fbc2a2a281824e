// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/node_order.hpp"

#include <atomic>

#include <ATen/SequenceNumber.h>

namespace tandem::libtorch {
namespace {

std::atomic<std::uint64_t> highest{0};  // of the calls so far

}  // namespace

std::uint64_t NodeOrder::next() noexcept {
  return highest;
}

NodeOrder::NodeOrder(std::uint64_t first) {
  while (at::sequence_number::peek() < first)
    at::sequence_number::get_and_increment();
}

NodeOrder::~NodeOrder() {
  const std::uint64_t own = at::sequence_number::peek();
  for (std::uint64_t seen = highest; seen < own && !highest.compare_exchange_weak(seen, own);) {
  }
}

}  // namespace tandem::libtorch
