// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/same_module.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

using tandem::detail::concat;

/// A line for each tensor.
std::string describe_module(ReplicaSource& module) {
  std::string text;
  module.visit_tensors([&](const std::string& name, Tensor& x, nn::TensorKind kind) {
    text += concat(kind == nn::TensorKind::parameter ? "parameter '" : "buffer '",
                   name,
                   "' ",
                   x.dtype(),
                   ' ',
                   x.shape(),
                   x.requires_grad() ? ", trains\n" : "\n");
  });
  return text;
}

/// Rank 0's text on every rank.
std::string broadcast(const std::string& text, comm::Communicator& comm) {
  const auto count = static_cast<std::int64_t>(text.size());
  const Tensor size = from_host(std::span<const std::int64_t>(&count, 1), {1}, comm.device());
  comm.broadcast(size, 0);
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  bytes.resize(static_cast<std::size_t>(size.item()));
  const Tensor letters = from_host(std::span<const std::uint8_t>(bytes),
                                   {static_cast<std::int64_t>(bytes.size())},
                                   comm.device());
  comm.broadcast(letters, 0);
  std::string result;
  for (const double letter : letters.to_doubles())
    result += static_cast<char>(letter);
  return result;
}

std::string first_difference(const std::string& own, const std::string& main) {
  std::istringstream a(own), b(main);
  std::string mine, theirs;
  for (;;) {
    const bool more_a = static_cast<bool>(std::getline(a, mine));
    const bool more_b = static_cast<bool>(std::getline(b, theirs));
    if (!more_a) mine = "no more";
    if (!more_b) theirs = "no more";
    if (mine != theirs || (!more_a && !more_b)) return concat(mine, ", rank 0 has ", theirs);
  }
}

}  // namespace

void check_same_module(ReplicaSource& module,
                       comm::Communicator& comm,
                       const std::string& wrapper) {
  const autograd::NoGrad off;
  const ContextScope kept([](Context& c) { c.keeps_data = true; });
  const std::string own = describe_module(module), main = broadcast(own, comm);
  std::vector<std::uint8_t> differs(static_cast<std::size_t>(comm.size()));
  differs[static_cast<std::size_t>(comm.rank())] = own != main;
  const Tensor flags =
      from_host(std::span<const std::uint8_t>(differs), {comm.size()}, comm.device());
  comm.all_reduce(flags, comm::ReduceOp::max);
  const std::vector<double> all = flags.to_doubles();
  if (own != main) {
    throw Desync(concat(wrapper,
                        ": rank ",
                        comm.rank(),
                        " has a different module from rank 0: this rank has ",
                        first_difference(own, main),
                        "; build the same module on every rank"));
  }
  const auto other = std::ranges::find_if(all, [](double flag) { return flag != 0; });
  if (other == all.end()) return;
  throw Desync(concat(wrapper,
                      ": rank ",
                      other - all.begin(),
                      " has a different module from rank 0 and this rank; build the same module on "
                      "every rank"));
}

}  // namespace tandem::parallel
