// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/nccl/nccl_api.hpp"
#include "comm/transport.hpp"

namespace tandem::comm {

/// The NCCL communicators of a group's ranks, which are all in this process.
class NcclLinks final : public Transport {
 public:
  /// @param devices  each on its own GPU, unless this NCCL has several ranks on one.
  NcclLinks(const NcclApi& nccl, std::vector<Device> devices, std::chrono::milliseconds timeout);
  ~NcclLinks() override;
  NcclLinks(const NcclLinks&) = delete;
  NcclLinks& operator=(const NcclLinks&) = delete;

  /// Makes the communicators, and has NCCL take the memory that they need. `queue` does this too if
  /// there are none, at first or after a failure. If a GPU is full, what its allocators keep unused
  /// is released first.
  ///
  /// @throws InvalidArgument  GPUs are broken peers, and NCCL would use them as peers all the same.
  /// @throws DeviceError, Timeout
  void connect();

  bool takes(const Piece& piece) const override;
  void queue(const std::vector<const Piece*>& pieces) override;
  void abort() noexcept override;
  void close() noexcept override;
  std::shared_ptr<Transport> make(const std::vector<Device>& devices) const override;

 private:
  NcclComm comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  CUstream_st* stream(int rank) const;
  void check_peers() const;
  void make_communicators();
  void warm_up();
  void queue(const Piece& piece);
  void send(const Piece& piece, std::size_t target);
  void broadcast(const Piece& piece);
  void reduce(const Piece& piece);
  void all_reduce(const Piece& piece);
  void all_gather(std::span<const Piece* const> parts);
  void reduce_scatter(std::span<const Piece* const> parts);
  /// The NCCL reduction of a piece, for one rank's call.
  NcclOp reduction(const Piece& piece, std::size_t source);
  /// Waits until NCCL has accepted the calls of all ranks. @throws DeviceError, Timeout
  void settle(const char* call);

  NcclApi nccl_;
  std::vector<Device> devices_;
  std::chrono::milliseconds timeout_;
  std::vector<NcclComm> comms_;
  std::vector<std::pair<int, NcclOp>> made_;  // by rank; destroyed after the calls
};

}  // namespace tandem::comm
