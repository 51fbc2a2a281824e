// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/links/alike_check.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "tandem/core/check.hpp"

#include "sim/links/collective_kind.hpp"

namespace tandem::sim {

using Kind = comm::Collective::Kind;

void check_alike(const profile::StepRecord& record, std::span<const Device> devices, int gpus) {
  const auto refuse = [&](const std::string& what) {
    throw InvalidArgument(detail::concat(
        "simulate: ",
        devices.size(),
        " devices stand for ",
        gpus,
        " GPUs, but the step ",
        what,
        "; simulate as many devices as GPUs, or a step in mode ddp with the loss in the replica"));
  };
  const auto is_gpu = [&](Device device) {
    return std::ranges::find(devices, device) != devices.end();
  };
  for (const profile::WorkSpan& span : record.work) {
    if (!span.exchange || span.kind == Work::Kind::barrier) continue;
    const std::optional<Kind> kind = collective_kind(span.name);
    if (kind != Kind::all_reduce && kind != Kind::broadcast)
      refuse(detail::concat("has a ", span.name, ", whose parts depend on their number"));
  }
  for (const profile::Transfer& moved : record.transfers)
    if (moved.exchange == 0 && is_gpu(moved.source) && is_gpu(moved.destination))
      refuse(detail::concat("copies from ", moved.source, " to ", moved.destination));
}

}  // namespace tandem::sim
