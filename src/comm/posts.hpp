// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include "comm/operation.hpp"

namespace tandem::comm {

/// Messages of which one end has arrived so far, oldest first.
class Posts {
 public:
  bool empty() const noexcept { return posts_.empty(); }
  /// The oldest message that an end of `kind` completes; null if there is none.
  std::shared_ptr<Operation> find(const Message& end, Collective::Kind kind) const;
  /// A message of which one end is there.
  ///
  /// @param rank  whose end has arrived.
  static std::shared_ptr<Operation> make(const Message& end, const Signature& signature, int rank);
  /// Keeps a message until its other end arrives, and drops those whose other end was found in
  /// another process.
  void add(std::shared_ptr<Operation> op);
  void remove(const std::shared_ptr<Operation>& op);
  /// Ends those whose other end has not been found without a result.
  void fail(const std::shared_ptr<const Failure>& why);

 private:
  std::deque<std::shared_ptr<Operation>> posts_;
};

}  // namespace tandem::comm
