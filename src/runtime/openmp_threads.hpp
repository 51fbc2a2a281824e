// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

namespace tandem {

/// This thread's parallel regions of OpenMP have a device's share of the cores until the end of the
/// scope; then as many threads as before, since other libraries of the process read the number too.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) noexcept : before_(omp_get_max_threads()) {
    if (before_ != threads) omp_set_num_threads(threads);
  }
  ~OpenMpThreads() {
    if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
  }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

}  // namespace tandem
