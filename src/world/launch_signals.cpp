// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/launch_signals.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

namespace tandem::world {
namespace {

// A signal to a process goes to any thread that does not block it. Threads that were there before
// the launch block none, so that blocking these signals in the launching thread alone, for
// signalfd, would leave the others to be ended by them. A handler is the whole process's.

std::atomic<int> launch_pipe{-1};
std::atomic<int> handlers{0};  // that run now, on any threads
static_assert(std::atomic<int>::is_always_lock_free, "used in handlers");

void on_launch_signal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  handlers.fetch_add(1);
  // A full pipe has signals enough.
  static_cast<void>(!::write(launch_pipe.load(), &byte, 1));
  handlers.fetch_sub(1);
  errno = error;
}

bool is_ignored_signal(int number) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

bool stays_ignored(int number) {
  return number == SIGHUP && is_ignored_signal(number);
}

}  // namespace

LaunchSignals::LaunchSignals() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw CommError("launch: the system has no descriptor left; close some");
  read_ = tandem::detail::Descriptor(ends[0]);
  write_ = tandem::detail::Descriptor(ends[1]);
  handlers = 0;  // a fork has copied those of other threads, which are not here
  launch_pipe = write_.get();
  sigset_t ours;
  ::sigemptyset(&ours);
  for (std::size_t i = 0; i < kLaunchSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = stays_ignored(kLaunchSignals[i]) ? SIG_IGN : on_launch_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(kLaunchSignals[i], &action, &before_[i]);
    ::sigaddset(&ours, kLaunchSignals[i]);
  }
  // A program may have blocked them in all of its threads.
  ::pthread_sigmask(SIG_UNBLOCK, &ours, &mask_before_);
}

LaunchSignals::~LaunchSignals() {
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  for (std::size_t i = 0; i < kLaunchSignals.size(); ++i)
    ::sigaction(kLaunchSignals[i], &before_[i], nullptr);
  launch_pipe = -1;
  while (handlers.load() > 0)  // one may be about to write where another file is opened soon
    std::this_thread::yield();
}

int LaunchSignals::next() const {
  unsigned char number = 0;
  return ::read(fd(), &number, 1) == 1 ? number : 0;
}

bool is_only_news(int signal) noexcept {
  return signal == SIGUSR1 || signal == SIGUSR2;
}

void forget_launch_signals() noexcept {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int number : kLaunchSignals)
    if (!stays_ignored(number)) ::sigaction(number, &usual, nullptr);
  ::sigaction(SIGPIPE, &usual, nullptr);
}

}  // namespace tandem::world
