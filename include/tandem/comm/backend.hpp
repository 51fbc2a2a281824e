// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::comm {

/// What moves a group's data.
enum class Backend : std::uint8_t {
  /// The ranks' threads on the host; among GPUs, logical ones too, peer copies and tandem's
  /// kernels.
  local,
  /// NCCL, among GPUs.
  ///
  /// Ranks meet, compare their calls, wait and fail as in local. The rank that comes last gives
  /// NCCL the calls of all as one group, so that no rank's part of a collective is on its GPU
  /// without the others'. Values are combined in NCCL's order: the bits may depend on the number of
  /// ranks, the count, and NCCL's version. What NCCL has not (bitwise reductions, a minimum or
  /// maximum that is NaN where a rank has one, algorithms by name) goes the way of local.
  nccl,
};

/// "local", "nccl".
const char* name(Backend backend) noexcept;
/// The backend of that name; none where there is no such backend.
std::optional<Backend> parse_backend(std::string_view name) noexcept;

}  // namespace tandem::comm
