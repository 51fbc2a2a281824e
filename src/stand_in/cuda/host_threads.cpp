// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Locks of the C library, as programs call them: what a thread knows of the GPUs goes with them to
// the next one (HostKnowledge). Each function does its work by the library's own.

#include <atomic>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "stand_in/machine/host_knowledge.hpp"

namespace {

using tandem::stand_in::HostKnowledge;

/// The library's own function, looked up once; there is no lock here that would call itself.
void* own(std::atomic<void*>& found, const char* name, const char* version = nullptr) {
  void* f = found.load(std::memory_order_relaxed);
  if (f != nullptr) return f;
  f = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
  found.store(f, std::memory_order_relaxed);
  return f;
}

// The version that has the conditions of today; an unversioned look-up may find those of
// LinuxThreads.
constexpr const char* kConditions = "GLIBC_2.3.2";

void leave(const void* lock) {
  HostKnowledge::get().leave(lock);
}
int entered(int status, const void* lock) {
  if (status == 0) HostKnowledge::get().enter(lock);
  return status;
}

/// Whether Python is ending the process; false where there is no Python.
bool python_ends() {
  for (const char* const name : {"Py_IsFinalizing", "_Py_IsFinalizing"})
    if (void* const ends = dlsym(RTLD_DEFAULT, name))
      return reinterpret_cast<int (*)()>(ends)() != 0;
  return false;
}

/// What a thread begins with.
struct Start {
  void* (*run)(void*);
  void* argument;
  std::shared_ptr<const tandem::stand_in::Clock> known;
};

void* begin_thread(void* given) {
  const auto* const start = static_cast<Start*>(given);
  const auto [run, argument, known] = *start;
  delete start;
  HostKnowledge::learn(known);
  void* const result = run(argument);
  leave(reinterpret_cast<const void*>(pthread_self()));
  return result;
}

}  // namespace

#define TANDEM_OWN(name, ...)             \
  static std::atomic<void*> name##_found; \
  auto* const library =                   \
      reinterpret_cast<decltype(name)*>(own(name##_found, #name __VA_OPT__(, ) __VA_ARGS__))

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* lock) noexcept {
  TANDEM_OWN(pthread_mutex_lock);
  return entered(library(lock), lock);
}
int pthread_mutex_trylock(pthread_mutex_t* lock) noexcept {
  TANDEM_OWN(pthread_mutex_trylock);
  return entered(library(lock), lock);
}
int pthread_mutex_unlock(pthread_mutex_t* lock) noexcept {
  TANDEM_OWN(pthread_mutex_unlock);
  leave(lock);
  return library(lock);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  TANDEM_OWN(pthread_rwlock_rdlock);
  return entered(library(lock), lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  TANDEM_OWN(pthread_rwlock_wrlock);
  return entered(library(lock), lock);
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  TANDEM_OWN(pthread_rwlock_unlock);
  leave(lock);
  return library(lock);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* lock) {
  TANDEM_OWN(pthread_cond_wait, kConditions);
  leave(lock);
  const int status = library(condition, lock);
  HostKnowledge::get().enter(lock);
  return status;
}
int pthread_cond_timedwait(pthread_cond_t* condition,
                           pthread_mutex_t* lock,
                           const timespec* until) {
  TANDEM_OWN(pthread_cond_timedwait, kConditions);
  leave(lock);
  const int status = library(condition, lock, until);
  HostKnowledge::get().enter(lock);
  return status;
}
int pthread_cond_clockwait(pthread_cond_t* condition,
                           pthread_mutex_t* lock,
                           clockid_t clock,
                           const timespec* until) {
  TANDEM_OWN(pthread_cond_clockwait);
  leave(lock);
  const int status = library(condition, lock, clock, until);
  HostKnowledge::get().enter(lock);
  return status;
}

// Python's locks are semaphores.
int sem_post(sem_t* semaphore) noexcept {
  TANDEM_OWN(sem_post);
  leave(semaphore);
  return library(semaphore);
}
int sem_wait(sem_t* semaphore) {
  TANDEM_OWN(sem_wait);
  return entered(library(semaphore), semaphore);
}
int sem_trywait(sem_t* semaphore) noexcept {
  TANDEM_OWN(sem_trywait);
  return entered(library(semaphore), semaphore);
}
int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  TANDEM_OWN(sem_clockwait);
  return entered(library(semaphore, clock, until), semaphore);
}

int pthread_create(pthread_t* thread,
                   const pthread_attr_t* attributes,
                   void* (*run)(void*),
                   void* argument) noexcept {
  TANDEM_OWN(pthread_create);
  auto* const start = new Start{run, argument, HostKnowledge::own()};
  const int status = library(thread, attributes, begin_thread, start);
  if (status != 0) delete start;
  return status;
}
int pthread_join(pthread_t thread, void** result) {
  TANDEM_OWN(pthread_join);
  return entered(library(thread, result), reinterpret_cast<const void*>(thread));
}

// Python before 3.14 ends a thread so that wants its lock while the process ends. A thread of
// PyTorch's backward is then within destructors, through which nothing may be thrown, and the
// process would be aborted: so the thread stays where it is, as in later versions.
void pthread_exit(void* result) {
  while (python_ends())
    pause();
  TANDEM_OWN(pthread_exit);
  library(result);
  __builtin_unreachable();
}

}  // extern "C"
