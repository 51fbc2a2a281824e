// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/runtime/event.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem::comm {

/// The work of a stream so far.
inline std::shared_ptr<const Event> recorded(const Stream& stream) {
  auto event = std::make_shared<Event>();
  event->record(stream);
  return event;
}

}  // namespace tandem::comm
