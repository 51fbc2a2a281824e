// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/cuda/control.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "stand_in/cuda/call.hpp"
#include "stand_in/cuda/wait_sites.hpp"

using tandem::stand_in::HostKnowledge;
using tandem::stand_in::Machine;
using tandem::stand_in::WaitSites;

namespace {

template <class F>
auto locked(F f) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  return f(m);
}

/// At the process's end: how much was wrong. A strict run then fails.
void conclude(int status, void* process) {
  if (static_cast<pid_t>(reinterpret_cast<std::intptr_t>(process)) != getpid()) return;
  Machine& m = Machine::get();
  if (m.reports.count() == 0) return;
  std::fprintf(stderr, "tandem.stand_in: %zu reports\n", m.reports.count());
  if (!m.settings.strict || status != 0) return;
  std::fflush(nullptr);
  _exit(1);
}

/// Before all others, so that it runs after them.
const bool concludes =
    on_exit(conclude, reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid()))) == 0;

}  // namespace

extern "C" {

void stand_in_begin_kernel(CUstream_st* stream, int gpu) {
  locked([=](Machine& m) {
    m.contexts.insert(gpu);
    m.begin_kernel(m.stream(stream, gpu));
  });
}
int stand_in_use(
    CUstream_st* stream, int gpu, const void* p, std::size_t nbytes, int writes, const char* name) {
  return locked([=](Machine& m) {
    return m.use(m.stream(stream, gpu), p, nbytes, writes != 0, name) ? 1 : 0;
  });
}
void stand_in_end_kernel(CUstream_st* stream, int gpu) {
  locked([=](Machine& m) { m.end_kernel(m.stream(stream, gpu)); });
}
void stand_in_reach(CUstream_st* stream, int gpu) {
  locked([=](Machine& m) { HostKnowledge::learn(m.stream(stream, gpu)->clock); });
}
void* stand_in_host(const void* p) {
  return Machine::get().memory.host(p);
}

int stand_in_reports() {
  return locked([](Machine& m) { return static_cast<int>(m.reports.count()); });
}
const char* stand_in_report(int i) {
  return locked([=](Machine& m) {
    const auto& texts = m.reports.texts();
    return static_cast<std::size_t>(i) < texts.size() ? texts[static_cast<std::size_t>(i)].c_str()
                                                      : "";
  });
}
void stand_in_forget_reports() {
  locked([](Machine& m) { m.reports.forget(); });
}
int stand_in_fail(const char* failures) {
  return locked([=](Machine& m) {
    try {
      m.failures.add(failures);
      return 1;
    } catch (const std::invalid_argument&) {
      return 0;
    }
  });
}
void stand_in_forget_failures() {
  locked([](Machine& m) { m.failures.forget(); });
}
unsigned long stand_in_calls(const char* name) {
  return locked([=](Machine& m) { return static_cast<unsigned long>(m.failures.calls(name)); });
}
const char* stand_in_all_calls() {
  static std::string& text = *new std::string;
  return locked([](Machine& m) {
    text.clear();
    for (const auto& [name, n] : m.failures.calls())
      text += name + " " + std::to_string(n) + "\n";
    return text.c_str();
  });
}
void stand_in_note_waits(int on) {
  WaitSites::get().note(on != 0);
}
const char* stand_in_wait_sites() {
  static std::string& text = *new std::string;
  text = WaitSites::get().text();
  return text.c_str();
}
int stand_in_leave_out(std::size_t place, std::size_t depth) {
  return WaitSites::get().leave_out(place, depth) ? 1 : 0;
}
int stand_in_occupy(int gpu, unsigned process, std::size_t nbytes) {
  return locked([=](Machine& m) {
    const bool exists = gpu >= 0 && gpu < m.settings.gpus;
    return exists && m.occupy(gpu, process, nbytes) ? 1 : 0;
  });
}
int stand_in_kernels() {
  return locked([](Machine& m) { return static_cast<int>(m.kernels.size()); });
}
void stand_in_not_there(const char* name) {
  Machine& m = Machine::get();
  const std::lock_guard lock(m.mutex);
  m.fatal("call", name, std::string(name) + " is called, and the stand-in has not got it");
}

}  // extern "C"
