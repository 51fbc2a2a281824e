// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// A host thread that touches a GPU's memory ends the process, as with a GPU; here it is told whose
// memory it was.

#include <csignal>
#include <mutex>

#include "stand_in/machine/machine.hpp"

namespace tandem::stand_in {
namespace {

struct sigaction before;  // what the process had for it

// What it calls is not safe in a handler, but the thread is in a memory access of its own, and the
// process ends whatever happens.
void tell_owner(int signal, siginfo_t* info, void* context) {
  Machine& m = Machine::get();
  const std::unique_lock lock(m.mutex, std::try_to_lock);
  if (lock.owns_lock() && m.memory.holds(info->si_addr))
    m.reports.add("memory", "host", "the host touches " + m.owner(info->si_addr));
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
    return before.sa_sigaction(signal, info, context);
  sigaction(signal, &before, nullptr);  // the access comes again, and ends the process
}

const bool watched = [] {
  struct sigaction watch = {};
  watch.sa_sigaction = tell_owner;
  watch.sa_flags = SA_SIGINFO;
  return sigaction(SIGSEGV, &watch, &before) == 0;
}();

}  // namespace
}  // namespace tandem::stand_in
