// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tandem::stand_in {

/// From where a program waits, so that a test can leave one wait out and see whether that is
/// noticed. Thread-safe.
class WaitSites {
 public:
  static WaitSites& get();

  /// Notes from now on, or no longer, where calls wait. What was noted stays.
  void note(bool on);
  /// A line for each place: the call, and the return addresses from the caller on, as
  /// "cudaStreamWaitEvent /lib/libc10_cuda.so+0x2c745 ...".
  std::string text();
  /// Waits that begin with the same call and `depth` return addresses as the place's are left out,
  /// until other ones are; depth 0: none is.
  ///
  /// @return  whether there is such a place.
  bool leave_out(std::size_t place, std::size_t depth);
  /// Whether a wait of this call by the caller's caller is left out.
  bool leaves_out(const char* call) { return is_of_interest_ && looks_at(call); }

 private:
  using Place = std::pair<std::string, std::vector<const void*>>;
  bool looks_at(const char* call);

  std::atomic<bool> is_of_interest_{false};
  std::mutex mutex_;  // guards what follows
  bool notes_ = false;
  std::vector<Place> places_;
  std::set<Place> known_;
  Place left_out_;  // its beginning
};

}  // namespace tandem::stand_in
