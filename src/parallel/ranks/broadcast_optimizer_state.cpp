// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/broadcast_optimizer_state.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

using Json = nlohmann::json;
using optim::OptimizerState;

/// Names, dtypes and shapes of tensors, and the numbers, to the bit.
std::string outline_of(const OptimizerState& state) {
  Json tensors = Json::array(), numbers = Json::array();
  for (const auto& [name, tensor] : state.tensors)
    tensors.push_back({name, tandem::name(tensor.dtype()), tensor.shape()});
  for (const auto& [name, number] : state.numbers)
    numbers.push_back({name, std::bit_cast<std::uint64_t>(number)});
  return Json{{"tensors", std::move(tensors)}, {"numbers", std::move(numbers)}}.dump();
}

/// A state as its outline says, with tensors on `device` whose values are still to come.
OptimizerState state_of(const std::string& outline, Device device) {
  OptimizerState state;
  const Json described = Json::parse(outline);
  for (const Json& tensor : described["tensors"]) {
    const auto sizes = tensor[2].get<std::vector<std::int64_t>>();
    state.tensors[tensor[0]] =
        zeros(Shape(sizes), {.dtype = parse_dtype(tensor[1].get<std::string>()), .device = device});
  }
  for (const Json& number : described["numbers"])
    state.numbers[number[0]] = std::bit_cast<double>(number[1].get<std::uint64_t>());
  return state;
}

}  // namespace

void broadcast_optimizer_state(optim::Optimizer& optimizer, const Rank& rank, int root) {
  TANDEM_CHECK(root >= 0 && root < rank.size(),
               "broadcast_optimizer_state: root is ",
               root,
               ", but there are ",
               rank.size(),
               " ranks");
  const autograd::NoGrad off;
  const bool is_root = rank.rank() == root;
  OptimizerState state = is_root ? optimizer.state_dict() : OptimizerState{};
  const std::string outline = rank.broadcast_object(is_root ? outline_of(state) : "", root);
  if (!is_root) state = state_of(outline, rank.device());
  for (const auto& [name, tensor] : state.tensors)
    rank.comm().broadcast(tensor, root);
  if (!is_root) optimizer.load_state_dict(state);
}

}  // namespace tandem::parallel
