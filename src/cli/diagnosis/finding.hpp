// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tandem::cli {

/// What tandem finds of one kind on this machine.
struct Finding {
  std::string key;       ///< in JSON: "gpus"
  std::string title;     ///< in the text: "GPUs"
  std::string says;      ///< a line
  std::string remedy;    ///< what would help; empty: nothing is missing
  nlohmann::json facts;  ///< the same for programs
};

/// The processor, and how many of its cores this process may use.
Finding find_cores();
/// The host's memory that is free.
Finding find_memory();
/// NVIDIA's driver and GPUs, as the system tells them.
Finding find_gpus();
/// Python, and the packages in it that matter: PyTorch and tandem's own.
Finding find_python();
/// What moves data between processes.
Finding find_plugins();
/// The data sets whose files are here.
Finding find_data();

}  // namespace tandem::cli
