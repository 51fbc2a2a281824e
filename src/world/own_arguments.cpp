// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/own_arguments.hpp"

#include <fstream>

namespace tandem::world {

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> all;
  std::string word;
  std::getline(file, word, '\0');
  while (std::getline(file, word, '\0'))
    all.push_back(word);
  return all;
}

}  // namespace tandem::world
