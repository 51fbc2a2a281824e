// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stand_in/machine/peers.hpp"

namespace tandem::stand_in {

inline constexpr int kMostGpus = 16;
inline constexpr const char* kGpuName = "Stand-in GPU of tandem";

/// What the environment says of the machine; docs/torch-stand-in.md lists the variables.
struct Settings {
  int installed = 4;              // GPUs of the machine, of which a place is the number
  int gpus = 4;                   // those that CUDA shows
  std::vector<int> visible = {};  // the places of these; empty: the first ones
  std::size_t gpu_bytes = std::size_t{16} << 30;
  Peers peers = Peers::all;
  std::size_t communicator_bytes = 0;  // of its GPU, which each of NCCL's takes
  std::uint64_t seed = 1;
  std::string failures = {};  // as class Failures reads them
  std::string reports = {};   // a file for reports as lines of JSON
  bool strict = false;
  std::chrono::seconds deadline{60};  // of a wait for another host thread

  /// The machine has so many GPUs, and CUDA shows them all.
  void install(int n) {
    installed = gpus = n;
    visible.clear();
  }
  bool has_peers() const { return peers != Peers::none; }
  int place(int gpu) const {
    return visible.empty() ? gpu : visible[static_cast<std::size_t>(gpu)];
  }
};

/// @throws std::invalid_argument  a variable's text is not what it must be; the text names both.
Settings read_settings();

/// Bytes of a text such as "16GiB", "512MiB" or "4096".
///
/// @throws std::invalid_argument  it is none.
std::size_t read_bytes(const std::string& text);

}  // namespace tandem::stand_in
