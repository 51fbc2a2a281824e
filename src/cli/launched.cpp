// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/launched.hpp"

#include <span>
#include <string>
#include <utility>

#include "tandem/comm/group.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/world/launch.hpp"

#include "world/own_arguments.hpp"

namespace tandem::cli {
namespace {

/// The arguments of this process, joined by blanks.
std::string arguments() {
  std::string text;  // without the name: hosts may have the program in different places
  for (const std::string& word : world::own_arguments())
    text += word + ' ';
  return text;
}

}  // namespace

Launched::Launched() {
  const auto launch = world::read_launch();
  if (launch && launch->size > 1)
    world_.emplace(world::World::from_environment({.contract = {{"command", arguments()}}}));
}

bool Launched::any(bool own) {
  if (!world_) return own;
  const Device host;
  if (comm_ == nullptr)
    comm_ = std::move(comm::make_group(std::span(&host, 1), {.world = &*world_}).front());
  const Tensor flag = full({1}, own ? 1 : 0);
  comm_->all_reduce(flag, comm::ReduceOp::max);
  return flag.item() != 0;
}

}  // namespace tandem::cli
