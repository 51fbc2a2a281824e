// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::stand_in {

/// Whether a GPU takes no more work of the process after this error of CUDA's.
bool ends_gpu(int code);

/// Which calls are to fail, by name and count, and how often each was made.
class Failures {
 public:
  /// @param text  "cudaMalloc:3,cudaEventRecord:1=700,cudaHostAlloc:2+": the third call, the first
  ///              one with error 700, and all from the second one on. Empty: none.
  /// @throws std::invalid_argument  it is no such text.
  explicit Failures(const std::string& text);
  /// More of them, by count from here on.
  ///
  /// @throws std::invalid_argument  as above.
  void add(const std::string& text);
  /// No call is to fail. Counts go on.
  void forget() { failures_.clear(); }

  /// Counts a call.
  ///
  /// @return  its error; 0: it does its work.
  int count(std::string_view call);
  std::uint64_t calls(std::string_view call) const;
  /// By name, all that were made.
  const std::map<std::string, std::uint64_t, std::less<>>& calls() const { return calls_; }

 private:
  struct Failure {
    std::string call;
    std::uint64_t first;
    bool and_later;
    int code;
  };
  static Failure read(const std::string& text);

  std::vector<Failure> failures_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;
};

}  // namespace tandem::stand_in
