// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "stand_in/machine/machine.hpp"

namespace tandem::stand_in {

/// The factor of a rank's values, as ncclRedOpCreatePreMulSum was given it.
struct Factor {
  int type;               // NCCL's
  std::uint64_t bits;     // of the value, where the host has given it
  const void* in_memory;  // of a GPU, from which it is read when the collective runs; may be null
};

/// A rank's part of a collective, or of a message.
struct Part {
  enum class Kind : std::uint8_t {
    join,  // the communicator's making, for which all ranks come as well
    broadcast,
    reduce,
    all_reduce,
    all_gather,
    reduce_scatter,
    send,
    receive
  };

  const char* name;  // of the call
  Kind kind;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0;
  int op = 0;
  int root = 0;  // of a message: the other rank
  CUstream_st* stream = nullptr;
  const void* owner = nullptr;                     // the communicator
  std::shared_ptr<const Factor> factor = nullptr;  // of kFactorSum

  bool is_message() const { return kind == Kind::send || kind == Kind::receive; }
  bool is_reduction() const {
    return kind == Kind::reduce || kind == Kind::all_reduce || kind == Kind::reduce_scatter;
  }
  /// Bytes that the rank reads and writes; 0: none.
  std::size_t read_bytes(std::size_t rank, std::size_t ranks) const;
  std::size_t written_bytes(std::size_t rank, std::size_t ranks) const;
  /// Whether what it reads and what it writes are the same bytes in place, or none of the same.
  bool has_its_place(std::size_t rank, std::size_t ranks) const;
  /// Whether all ranks of a collective agree on it.
  bool matches(const Part& other) const;
  /// "ncclReduce of 4 f32 by sum to rank 1"
  std::string text() const;
};

}  // namespace tandem::stand_in
