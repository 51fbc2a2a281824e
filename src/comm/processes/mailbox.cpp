// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/mailbox.hpp"

#include <algorithm>
#include <utility>

namespace tandem::comm {

std::uint64_t announcement_tag(std::uint64_t group) noexcept {
  constexpr std::uint64_t kNeitherDataNorOpening = std::uint64_t{3} << 62;
  return group | kNeitherDataNorOpening;
}

Mailbox::Mailbox(std::shared_ptr<const Membership> group) : group_(std::move(group)) {
  for (const int process : group_->processes)
    if (process != group_->processes[static_cast<std::size_t>(group_->own)])
      slots_.push_back({.process = process});
}

void Mailbox::look(ProcessLinks& links) {
  for (Slot& slot : slots_) {
    if (slot.has_gone) continue;
    try {
      while (slot.message == nullptr || slot.message->done()) {
        if (slot.message != nullptr) arrived_.push_back(slot.next);
        slot.message = links.receive(
            slot.process, announcement_tag(group_->group), &slot.next, sizeof slot.next);
      }
    } catch (const ProcessLinks::Lost&) {  // who waits for it is told by the mesh
      slot.has_gone = true;
    }
  }
}

void Mailbox::close() noexcept {
  slots_.clear();
}

// An announcement may arrive after an earlier receiver has looked.
std::optional<Announcement> Mailbox::take(Ticket ticket) {
  const auto found = std::ranges::find_if(arrived_, [&](const Announcement& a) {
    return ticket->fits(a) &&
           std::none_of(waiting_.begin(), ticket, [&](const Wanted& w) { return w.fits(a); });
  });
  if (found == arrived_.end()) return std::nullopt;
  const Announcement taken = *found;
  arrived_.erase(found);
  return taken;
}

}  // namespace tandem::comm
