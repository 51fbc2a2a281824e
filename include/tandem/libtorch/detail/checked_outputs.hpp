// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <vector>

#include "tandem/parallel/detail/outputs.hpp"
#include "tandem/parallel/detail/replica_set.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::libtorch::detail {

/// Checks the outputs of a call when its last replica has returned, and before the call takes
/// effect: outputs that cannot be joined leave buffers and random numbers as they were.
class CheckedOutputs {
 public:
  explicit CheckedOutputs(std::size_t replicas) : running_(replicas) {}

  /// A replica has returned. @param check  throws for outputs that are refused.
  template <class Check>
  void note_return(const Check& check) {
    if (running_.fetch_sub(1) != 1) return;
    try {
      check();
    } catch (...) {
      refusal_ = std::current_exception();
      throw;
    }
  }
  /// Once the call has failed: throws what the check has thrown, which is not a replica's error.
  void rethrow() const {
    if (refusal_ != nullptr) std::rethrow_exception(refusal_);
  }

 private:
  std::atomic<std::size_t> running_;
  std::exception_ptr refusal_;
};

/// @throws InvalidArgument  the parts cannot be gathered, see parallel::gather.
template <TensorNest T>
void check_gather(const std::vector<T>& values, const parallel::GatherOptions& options) {
  namespace own = parallel::detail;
  std::vector<own::OutputPartsOf<NestLeaf<T>>> parts;
  for (const T& value : values)
    parts.push_back(own::take_apart(value, options.dim));
  own::check_parts(parts);
  for (std::size_t k = 0; k < parts.front().tensors.size(); ++k) {
    std::vector<NestLeaf<T>> column;
    for (const auto& part : parts)
      column.push_back(part.tensors[k]);
    own::check_column(column, own::join_rule(parts, k, options));
  }
}

/// The same for outputs where they lie.
struct GatherCheck {
  template <class Output>
  void operator()(const std::vector<Output*>& outputs,
                  const parallel::GatherOptions& options) const {
    std::vector<Output> values;
    for (const Output* output : outputs)
      values.push_back(*output);
    check_gather(values, options);
  }
};

/// How the outputs of replicas with these rows are joined.
inline parallel::GatherOptions gather_options(const std::vector<RowRange>& rows,
                                              int dim,
                                              parallel::Combine scalars) {
  parallel::GatherOptions options{.dim = dim, .scalars = scalars, .rows = {}};
  for (std::size_t d = 0; d < rows.size(); ++d)
    if (parallel::detail::is_active(rows, d)) options.rows.push_back(rows[d].size());
  return options;
}

}  // namespace tandem::libtorch::detail
