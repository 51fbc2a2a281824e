// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/error_file.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"
#include "tandem/world/launch.hpp"

namespace tandem::world {

// Source of the format: torch.distributed.elastic.multiprocessing.errors.ErrorHandler.
void write_error_file(const std::exception& error) noexcept {
  try {
    const std::optional<std::string> path = environment_variable("TORCHELASTIC_ERROR_FILE");
    if (!path || path->empty() || std::filesystem::exists(*path)) return;
    using std::chrono::seconds;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto later = seconds(find_cause<CommAborted>(error) != nullptr ? 1 : 0);
    const auto date = std::chrono::duration_cast<seconds>(now) + later;
    // torchrun prints the call stack as the cause's traceback.
    const nlohmann::json file{
        {"message",
         {{"message", error.what()},
          {"extraInfo",
           {{"py_callstack", error.what()}, {"timestamp", std::to_string(date.count())}}}}}};
    const std::string text =
        file.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    if (const auto folder = std::filesystem::path(*path).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder);
    write_atomically(*path, [&](FileWriter& out) { out.write(std::as_bytes(std::span(text))); });
  } catch (const std::exception&) {
  }
}

}  // namespace tandem::world
