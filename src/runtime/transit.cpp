// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/transit.hpp"

#include <algorithm>
#include <utility>

namespace tandem {

void Transits::add(Transit transit) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(list_, [](const Transit& t) { return t.has_ended && t.has_ended(); });
  list_.push_back(std::move(transit));
  any_.store(true, std::memory_order_release);
}

void Transits::await(std::size_t begin, std::size_t end, Direction direction) {
  const std::scoped_lock lock(mutex_);
  const auto is_in_the_way = [&](const Transit& t) {
    return t.begin < end && begin < t.end &&
           (t.way == Transit::Way::in || direction != Direction::read);
  };
  for (auto at = std::ranges::find_if(list_, is_in_the_way); at != list_.end();
       at = std::ranges::find_if(list_, is_in_the_way)) {
    Transit transit = std::move(*at);
    list_.erase(at);
    try {
      transit.wait();
    } catch (...) {
      list_.push_back(std::move(transit));
      throw;
    }
  }
  any_.store(!list_.empty(), std::memory_order_release);
}

void Transits::clear() noexcept {
  std::vector<Transit> ended;  // their ends may be work on the same buffer
  const std::scoped_lock lock(mutex_);
  ended.swap(list_);
  any_.store(false, std::memory_order_release);
}

}  // namespace tandem
