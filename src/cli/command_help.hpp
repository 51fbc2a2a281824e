// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tandem::cli {

/// What --help and --help-all print of the program, a family or a command, in lines of 80 columns.
class CommandHelp : public CLI::Formatter {
 public:
  /// @param first_flags  those of --help; none: it prints all, as --help-all does.
  explicit CommandHelp(std::vector<std::string> first_flags = {});

  std::string make_help(const CLI::App* app,
                        std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string flags_by_subject(const CLI::App& app,
                               const std::function<bool(const CLI::Option*)>& is_wanted) const;

  std::vector<std::string> first_flags_;
};

}  // namespace tandem::cli
