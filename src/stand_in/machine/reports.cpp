// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/reports.hpp"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace tandem::stand_in {
namespace {

constexpr std::size_t kMostTold = 20, kMostKept = 1000;

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) >= ' ') {
      json += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", c);
    json += code;
  }
  return json + "\"";
}

/// One write, so that lines of several processes do not mix.
void append(const std::string& file, const std::string& line) {
  const int out = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (out < 0 || write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::fprintf(
        stderr, "tandem.stand_in: cannot write to TANDEM_STAND_IN_REPORTS, %s\n", file.c_str());
  if (out >= 0) close(out);
}

}  // namespace

void Reports::add(const std::string& kind, const std::string& name, const std::string& text) {
  if (++count_ <= kMostTold)
    std::fprintf(stderr, "tandem.stand_in: %s: %s\n", kind.c_str(), text.c_str());
  if (count_ == kMostTold)
    std::fprintf(stderr, "tandem.stand_in: further reports are counted, and not shown\n");
  if (texts_.size() < kMostKept) texts_.push_back(kind + ": " + text);
  if (!file_.empty())
    append(file_,
           "{\"kind\": " + quoted(kind) + ", \"name\": " + quoted(name) +
               ", \"text\": " + quoted(text) + "}\n");
}

}  // namespace tandem::stand_in
