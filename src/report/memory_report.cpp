// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/report/memory_report.hpp"

#include "report/memory.hpp"
#include "report/page.hpp"

namespace tandem::report {
namespace {

constexpr int kIndent = 2;  // of JSON

}  // namespace

std::string MemoryReport::text() const {
  return report::text(memory_, {}, {.of_state = "Mode::sharded"});
}

std::string MemoryReport::json() const {
  return to_json(memory_).dump(kIndent);
}

std::string MemoryReport::html() const {
  Recording recording;
  recording.steps = 1;
  recording.memory = memory_;
  return memory_page(recording);
}

}  // namespace tandem::report
