// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "autograd/backward_context.hpp"

#include <utility>

#include "tandem/autograd/tape_context.hpp"

namespace tandem::autograd {

std::shared_ptr<const Context> backward_context(const Context& forward,
                                                const Context& caller,
                                                const BackwardOptions& options,
                                                bool captures,
                                                std::shared_ptr<const UnwantedInputs> unwanted,
                                                std::shared_ptr<const GradientPlaces> places) {
  auto c = std::make_shared<Context>(forward);
  c->grad_enabled = options.create_graph;
  c->captures_gradients = captures;
  c->retains_graph = options.retain_graph;
  c->recomputes = false;
  if (const auto& t = tape_context(forward);
      t.checkpoint || t.interval || t.unwanted != unwanted || t.places != places)
    change_tape_context(*c, [&](TapeContext& next) {
      next.checkpoint = nullptr;
      next.unwanted = std::move(unwanted);
      next.places = std::move(places);
      next.interval = nullptr;
    });
  c->phase = Phase::backward;
  c->deadline = caller.deadline;
  c->abort = caller.abort;
  c->threads = caller.threads;
  return c;
}

std::shared_ptr<const Context> leaf_context() {
  auto c = std::make_shared<Context>(context());
  c->phase = Phase::backward;
  return c;
}

}  // namespace tandem::autograd
