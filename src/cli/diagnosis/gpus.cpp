// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tandem/config.hpp"

#include "cli/diagnosis/finding.hpp"
#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDriver = "/proc/driver/nvidia";

/// The models of the GPUs that NVIDIA's driver has, in the order of their addresses.
std::vector<std::string> models() {
  constexpr std::string_view kField = "Model:";
  std::vector<fs::path> folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(fs::path(kDriver) / "gpus", none))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  std::vector<std::string> found;
  for (const fs::path& folder : folders) {
    std::ifstream file(folder / "information");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with(kField)) continue;
      const std::size_t at = line.find_first_not_of(" \t", kField.size());
      found.push_back(at == std::string::npos ? "unknown" : line.substr(at));
    }
  }
  return found;
}

/// The first line of what the driver says of itself; empty: there is no driver.
std::string driver() {
  std::string line;
  std::ifstream file(fs::path(kDriver) / "version");
  std::getline(file, line);
  return line;
}

/// What those with GPUs are to do, by what this build can.
std::string remedy(std::size_t gpus, int usable) {
  if (gpus == 0 || usable > 0) return {};
  if (!has_cuda)
    return "to use the GPUs by tandem's own modules, build it with -D TANDEM_CUDA=ON; programs of "
           "PyTorch use them without it (python3 -m tandem run train.py)";
  return "the driver has GPUs, but CUDA finds none: " + gpu_backend().no_gpu_reason();
}

}  // namespace

Finding find_gpus() {
  const std::vector<std::string> found = models();
  const int usable = has_cuda ? gpu_backend().count() : 0;
  const std::string version = driver();
  std::string says = found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
  if (!version.empty()) says += fmt::format("; {}", version);
  says += has_cuda ? fmt::format("; {} for this build, which has CUDA", usable)
                   : "; this build has no CUDA";
  return {.key = "gpus",
          .title = "GPUs",
          .says = says,
          .remedy = remedy(found.size(), usable),
          .facts = {{"models", found}, {"driver", version}, {"usable", usable}}};
}

}  // namespace tandem::cli
