// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/comm/handle.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "comm/meeting.hpp"

namespace tandem::comm {

/// One rank's part of an operation: its tensors and scratch memory, and what observers are told.
///
/// Used by the rank's thread. Keeps the memory that the operation points to.
class StartedOperation final : public Handle::Pending {
 public:
  /// Brings the rank to the meeting.
  ///
  /// @param collectives  checked by check_part. @throws  as Communicator::start
  StartedOperation(std::shared_ptr<Meeting> meeting, int rank, std::vector<Collective> collectives);
  ~StartedOperation() override;
  StartedOperation(const StartedOperation&) = delete;
  StartedOperation& operator=(const StartedOperation&) = delete;

  void wait(std::chrono::milliseconds timeout) override;
  void settle(std::chrono::milliseconds timeout) override;
  bool done() const noexcept override;
  int source() const noexcept override;

 private:
  void settle_data() const noexcept;
  void count() const;
  void count_side() const;
  template <class F>
  void in_scopes(Exchange::Point point, std::size_t i, const F& f) const;
  Exchange exchange_of(const Collective& c, Exchange::Point point) const;
  void* make_scratch(const Collective& c);
  void check_data(const std::vector<Part>& parts) const;
  std::shared_ptr<Operation> arrive(std::vector<Part> parts) const;
  void follow();
  void follow_later();
  bool on_gpu() const;
  Stream& stream() const;

  std::shared_ptr<Meeting> meeting_;
  int rank_;
  std::vector<Collective> collectives_;           // keep the memory that the operation points to
  std::vector<std::unique_ptr<Buffer>> scratch_;  // by collective; likewise
  std::shared_ptr<Operation> operation_;
  bool settled_ = false;
  bool is_followed_ = false;
};

}  // namespace tandem::comm
