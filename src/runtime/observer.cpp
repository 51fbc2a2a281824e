// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/observer.hpp"

#include "tandem/runtime/runtime.hpp"

namespace tandem {

Subscription::Subscription(Observer& observer) : observer_(observer) {
  Runtime::instance().subscribe(observer);
}
Subscription::~Subscription() {
  Runtime::instance().unsubscribe(observer_);
}

}  // namespace tandem
