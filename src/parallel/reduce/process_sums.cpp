// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/process_sums.hpp"

namespace tandem::parallel {

void ProcessSums::begin(comm::Communicator* processes) {
  clear();
  processes_ = processes;
}

void ProcessSums::start(const Tensor& part) {
  const bool has_part = part.defined() && part.numel() > 0;
  sums_.push_back(has_part ? processes_->start_all_reduce(part) : comm::Handle());
}

void ProcessSums::wait(std::size_t bucket) {
  if (bucket < sums_.size()) sums_[bucket].wait();
}

void ProcessSums::clear() noexcept {
  sums_.clear();
  processes_ = nullptr;
}

}  // namespace tandem::parallel
