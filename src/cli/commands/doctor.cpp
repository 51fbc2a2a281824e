// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/utsname.h>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/world/launch.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/diagnosis/finding.hpp"
#include "kernels/onednn/fast_path.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): as POSIX has it

namespace tandem::cli {
namespace {

using Json = nlohmann::json;

struct DoctorRequest {
  JsonChoice json;

  void add_flags(CLI::App& app) { json.add_flags(app); }
  int run() const;
};

const char* name(HostThreads threads) {
  constexpr std::array kNames{"none", "openmp", "tbb"};
  return kNames.at(static_cast<std::size_t>(threads));
}

Finding find_build() {
  const Json facts{{"version", version},
                   {"cuda", has_cuda},
                   {"cudnn", has_cudnn},
                   {"nccl", has_nccl},
                   {"nvtx", has_nvtx},
                   {"onednn", kernels::onednn::is_linked()},
                   {"host_threads", name(host_threads)}};
  std::vector<std::string> parts{"openblas"};  // always
  for (const char* part : {"cuda", "cudnn", "nccl", "nvtx", "onednn"})
    if (facts.at(part).get<bool>()) parts.emplace_back(part);
  return {
      .key = "tandem",
      .title = "tandem",
      .says = fmt::format(
          "{}, built with {}; threads by {}", version, fmt::join(parts, ", "), name(host_threads)),
      .remedy = {},
      .facts = facts};
}

Finding find_system() {
  utsname system{};
  ::uname(&system);
  const std::string says = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  return {.key = "system", .title = "system", .says = says, .remedy = {}, .facts = says};
}

Finding find_devices() {
  std::vector<std::string> names;
  for (const Device device : default_devices())
    names.push_back(to_string(device));
  return {.key = "devices",
          .title = "devices",
          .says = fmt::format("{}", fmt::join(names, ", ")),
          .remedy = {},
          .facts = names};
}

/// The launcher, and the variables that change what tandem does.
Finding find_process() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::string_view(*variable).starts_with("TANDEM_")) variables.emplace_back(*variable);
  const std::optional<world::Launch> launch = world::read_launch();
  return {
      .key = "process",
      .title = "process",
      .says = fmt::format("{}{}{}",
                          launch ? launch->describe() : "alone, without a launcher",
                          variables.empty() ? "" : "; ",
                          fmt::join(variables, " ")),
      .remedy = {},
      .facts = {{"launcher", launch ? Json(launch->launcher) : Json()}, {"variables", variables}}};
}

int DoctorRequest::run() const {
  check_files({json.given_file()});
  const std::array findings{find_build(),
                            find_system(),
                            find_cores(),
                            find_memory(),
                            find_devices(),
                            find_gpus(),
                            find_python(),
                            find_plugins(),
                            find_data(),
                            find_process()};
  Json report{{"schema_version", 1}};
  std::vector<std::string> remedies;
  for (const Finding& finding : findings) {
    report[finding.key] = finding.facts;
    if (!finding.remedy.empty())
      remedies.push_back(fmt::format("{}: {}", finding.title, finding.remedy));
  }
  report["remedies"] = remedies;
  json.write([&] { return report; });
  if (!json.leaves_text()) return 0;
  for (const Finding& finding : findings)
    console::print("{:<9} {}\n", finding.title, console::readable(finding.says));
  console::print(
      "{}\n", remedies.empty() ? "nothing is missing" : "what is missing, for those who need it:");
  for (const std::string& remedy : remedies)
    console::print("  {}\n", console::readable(remedy));
  return 0;
}

}  // namespace

Command doctor_command() {
  return make_command<DoctorRequest>(
      {.name = "doctor",
       .summary = "say what is here and what is missing, for an issue too",
       .purpose = Purpose::machines});
}

}  // namespace tandem::cli
