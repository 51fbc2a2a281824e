// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/non_finite_watch.hpp"

#include <cstdint>

#include "tandem/tensor/factories.hpp"

#include "optim/gradients.hpp"

namespace tandem::parallel {

void NonFiniteWatch::start() {
  const auto places = static_cast<std::int64_t>(arena_->layout().places().size());
  found_ = zeros({places}, {.dtype = DType::i32, .device = arena_->device()});
}

void NonFiniteWatch::look(std::size_t place) const {
  const optim::ArenaPlace& at = arena_->layout().places()[place];
  const Tensor& grads = arena_->grads(at.block);
  optim::find_nonfinite(as_strided(grads, {at.extent}, {1}, grads.impl().offset + at.offset),
                        as_strided(found_, {}, {}, static_cast<std::int64_t>(place)));
}

std::vector<double> NonFiniteWatch::found() const {
  return found_.defined() && found_.has_data() ? found_.to_doubles() : std::vector<double>{};
}

}  // namespace tandem::parallel
