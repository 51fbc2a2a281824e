// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/collective.hpp"

namespace tandem::comm {

/// What the ranks of a collective must agree on. It holds no pointers, so that a rank of another
/// process can send its own.
struct Signature {
  static constexpr int kDirect = -1;
  static constexpr std::size_t kPurpose = 64;

  Collective::Kind kind = Collective::Kind::barrier;
  DType dtype = DType::f32;
  std::int64_t count = 0;  ///< size of the tensors that are equal on all ranks; 0 if none are
  ReduceOp op = ReduceOp::sum;
  int root = -1;
  int algorithm = kDirect;               ///< index into algorithms(), or kDirect
  std::array<char, kPurpose> purpose{};  ///< the end of the text; what is left are zeros
};
static_assert(std::is_trivially_copyable_v<Signature>);

/// @throws InvalidArgument  the collective's algorithm is not one of algorithms().
Signature signature_of(const Collective& collective);
std::vector<Signature> signatures_of(std::span<const Collective> collectives);
/// The algorithm that carries a collective out. Null: direct.
const Algorithm* algorithm_of(const Signature& signature) noexcept;

/// "" if they agree, otherwise the first field that differs, with both values:
/// "count differs: # has 3, # has 4", where each # stands for a rank's name.
std::string difference(const Signature& a,
                       const std::string& rank_a,
                       const Signature& b,
                       const std::string& rank_b);
/// The same for coalesced collectives; says which of them differs.
std::string difference(std::span<const Signature> a,
                       const std::string& rank_a,
                       std::span<const Signature> b,
                       const std::string& rank_b);

}  // namespace tandem::comm
