// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/autograd/row_group.hpp"
#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

/// Presents the ranks of a communicator as the replicas of a batch.
class RowGroupAdapter final : public RowGroup {
 public:
  /// @param comm  must outlive this object.
  explicit RowGroupAdapter(Communicator& comm) noexcept : comm_(comm) {}
  int size() const noexcept override { return comm_.size(); }
  int rank() const noexcept override { return comm_.rank(); }
  Tensor all_reduce_sum(const Tensor& x) override;
  void reset() override { comm_.reset(); }

 private:
  Communicator& comm_;
};

}  // namespace tandem::comm
