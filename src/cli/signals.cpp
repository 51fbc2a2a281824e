// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "tandem/runtime/runtime.hpp"

#include "cli/console.hpp"

namespace tandem::cli {
namespace {

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> first_stop{0};
std::atomic<int> status_pipe{-1};
std::atomic<std::int64_t> last_step{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in handlers");

void on_stop(int signal) {
  int none = 0;
  if (!first_stop.compare_exchange_strong(none, signal)) ::_exit(128 + signal);
}

void on_status(int) {
  const int before = errno;
  const char wish = 1;
  static_cast<void>(!::write(status_pipe.load(), &wish, 1));  // a full pipe has wishes enough
  errno = before;
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

/// A line for each device that has been used.
std::string describe_devices() {
  const std::int64_t step = last_step;
  std::string text = fmt::format(
      "SIGUSR1: {}\n", step > 0 ? fmt::format("after step {}", step) : "no step has finished yet");
  for (const DeviceType type : {DeviceType::cpu, DeviceType::cuda}) {
    for (const LogicalDevice* device : Runtime::instance().made(type)) {
      const MemoryStats memory = device->memory_stats();
      const char* work = device->last_work();
      text += fmt::format("  {}: last operation {}, {} in use, {} at most so far, limit {}\n",
                          to_string(device->device()),
                          work == nullptr || *work == '\0' ? "none" : work,
                          format_nbytes(memory.in_use),
                          format_nbytes(memory.peak),
                          device->limit() == SIZE_MAX ? "none" : format_nbytes(device->limit()));
    }
  }
  return text;
}

void tell_devices() noexcept {
  try {
    console::tell_text(describe_devices());
  } catch (const std::exception& e) {
    console::tell_error(e.what());
  }
}

}  // namespace

StopSignals::StopSignals() {
  first_stop = 0;
  for (const int signal : kStops)
    if (signal != SIGHUP || !is_ignored(signal)) set_handler(signal, on_stop);
}

StopSignals::~StopSignals() {
  for (const int signal : kStops)
    if (signal != SIGHUP || !is_ignored(signal)) set_handler(signal, SIG_DFL);
}

int StopSignals::came() noexcept {
  return first_stop;
}

const char* signal_name(int signal) noexcept {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "SIGTERM";
  }
}

StatusSignal::StatusSignal() {
  // Without a pipe or a thread there is no status, and the program goes on.
  if (::pipe2(ends_, O_CLOEXEC) != 0) return;
  ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);
  try {
    thread_ = std::jthread([in = ends_[0]] {
      for (char wish = 0;;) {
        const ssize_t n = ::read(in, &wish, 1);
        if (n == 1) tell_devices();
        if (n == 0 || (n < 0 && errno != EINTR)) return;
      }
    });
  } catch (const std::system_error&) {
    return;
  }
  status_pipe = ends_[1];
  set_handler(SIGUSR1, on_status);
}

void StatusSignal::note_step(std::int64_t step) noexcept {
  last_step = step;
}

StatusSignal::~StatusSignal() {
  if (thread_.joinable()) set_handler(SIGUSR1, SIG_IGN);  // one that is late ends nothing
  if (ends_[1] >= 0) ::close(ends_[1]);                   // ends the thread
  if (thread_.joinable()) thread_.join();
  if (ends_[0] >= 0) ::close(ends_[0]);
}

}  // namespace tandem::cli
