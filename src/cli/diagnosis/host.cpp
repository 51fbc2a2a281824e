// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "tandem/runtime/cpu_capability.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/diagnosis/finding.hpp"
#include "cli/limits.hpp"
#include "kernels/variants.hpp"

namespace tandem::cli {
namespace {

/// "AMD EPYC 9654 96-Core Processor"; empty: the system does not tell.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t at = line.find(": ");
    return at == std::string::npos ? "" : line.substr(at + 2);
  }
  return "";
}

}  // namespace

Finding find_cores() {
  const std::string processor = processor_name();
  const unsigned all = std::thread::hardware_concurrency();
  return {.key = "cores",
          .title = "cores",
          .says = fmt::format("{} of {}{}{}, {}; kernels for {}",
                              core_count(),
                              all,
                              processor.empty() ? "" : " of ",
                              processor,
                              name(get_cpu_capability()),
                              kernels::variant()),
          .remedy = {},
          .facts = {{"usable", core_count()},
                    {"all", all},
                    {"processor", processor},
                    {"capability", name(get_cpu_capability())},
                    {"kernels", kernels::variant()}}};
}

Finding find_memory() {
  const std::size_t nbytes = available_host_memory();
  return {.key = "memory",
          .title = "memory",
          .says = fmt::format("{} free", format_nbytes(nbytes)),
          .remedy = {},
          .facts = {{"free_bytes", nbytes}}};
}

}  // namespace tandem::cli
