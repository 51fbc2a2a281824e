// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/operation.hpp"
#include "comm/processes/membership.hpp"
#include "comm/processes/message_graph.hpp"

namespace tandem::comm {

/// What the messages of an operation are told apart by from those of others.
struct Channels {
  std::vector<std::uint32_t> by_place;  ///< that each process of the group has named
};

/// This process's share of a collective over processes. All processes make theirs from the same
/// parts, so that both ends of a message count it alike.
///
/// Direct collectives that reduce are done in two levels: each process adds up its own ranks, in
/// their order, and the processes' results are added up in the processes' order, each share by one
/// of them. Each process sends 2 (P-1) / P of an all-reduce's bytes, however many ranks it has.
/// Collectives of a named algorithm do its steps, each after the one before; ranks of two processes
/// exchange messages. Native ones are the links' own among the processes, after each process has
/// added up its ranks.
///
/// @param op         has the parts of all ranks; the pointers of other processes' are not used. Its
///                   plan gets the traffic of named algorithms, but for native, whose is direct's.
/// @param natives    by collective of `op`, those that the links carry out, without their data;
///                   empty: none is
/// @param take_back  see ProcessLinks::takes_back. If not, messages use memory of the graph alone.
/// @param room       gives memory that lives as long as the graph.
/// @throws Desync  see make_collective_plan
MessageGraph build_graph(Operation& op,
                         const Membership& group,
                         const GroupOptions& options,
                         const Channels& channels,
                         const std::vector<std::optional<ProcessLinks::Native>>& natives,
                         bool take_back,
                         const std::function<void*(std::size_t nbytes)>& room);

/// The reduction of the ranks of a process.
ReduceOp op_in_process(ReduceOp op) noexcept;
/// The reduction of the processes' results. Where it is a sum for a mean, the number of ranks
/// divides it afterwards.
ReduceOp op_among_processes(const Membership& group, ReduceOp op) noexcept;

/// The tag of a message: a bit, the sender's channel and the message's number there.
std::uint64_t message_tag(std::uint32_t channel, std::uint32_t number) noexcept;
/// The tag of the openings of a group, which come in their order.
std::uint64_t opening_tag(std::uint64_t group) noexcept;

}  // namespace tandem::comm
