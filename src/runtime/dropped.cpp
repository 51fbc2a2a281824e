// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/dropped.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/buffer.hpp"

namespace tandem {

void Dropped::drop(std::shared_ptr<const std::string> unit) {
  if (buffer_.is_dropped()) refuse("drop");
  const Lending& lending = buffer_.lending();
  TANDEM_CHECK(!lending.is_adopted() && !lending.is_lent(),
               "drop: ",
               buffer_.nbytes(),
               " bytes of ",
               buffer_.category(),
               " on ",
               buffer_.device(),
               lending.is_adopted() ? " belong to another library; drop memory of tandem's own"
                                    : " are lent to another library; end its tensors first");
  buffer_.transits().await(0, buffer_.nbytes(), Direction::write);
  unit_ = std::move(unit);
  if (buffer_.nbytes() > 0) buffer_.give_memory_back();
}

void Dropped::wake() {
  if (buffer_.is_dropped()) buffer_.take_memory();
}

void Dropped::wake(Buffer& other) {
  TANDEM_ASSERT(buffer_.is_dropped() && !other.is_dropped() && !other.lending().is_adopted() &&
                    other.device() == buffer_.device() && other.nbytes() == buffer_.nbytes() &&
                    other.category() == buffer_.category(),
                "a buffer can take the memory of one that is like it");
  buffer_.take_memory_of(other);
}

// Whoever looks sees the same bytes as before the buffer was dropped.
void Dropped::provide(const char* op, std::span<const Buffer* const> used) {
  const std::shared_ptr<BufferSource> source = source_;
  if (source == nullptr) refuse(op);
  source->provide(buffer_, used);
}

void Dropped::refuse(const char* op) const {
  throw InvalidArgument(detail::concat(op,
                                       ": the memory of ",
                                       name(buffer_.category()),
                                       " of '",
                                       buffer_.owners(),
                                       "' on ",
                                       buffer_.device(),
                                       " has been given back with unit '",
                                       *unit_,
                                       "'; use it where the unit has been gathered"));
}

}  // namespace tandem
