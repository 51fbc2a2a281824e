// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/worker.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds(2);
constexpr auto kSpin = std::chrono::microseconds(20);
constexpr std::size_t kStack = std::size_t{8} << 20;  // whatever limit the process began with

/// Looks at `ready` for a moment before the caller parks: a hand-over through the kernel costs
/// more.
template <class Ready>
void spin_until(Ready ready) {
  const auto end = Clock::now() + kSpin;
  while (!ready() && Clock::now() < end) {
    for (int i = 0; i < 32 && !ready(); ++i)
      std::this_thread::yield();
  }
}

std::atomic<unsigned> forks{0};
std::atomic<std::uint64_t> jobs{0};

void check_here(unsigned made_under, const std::string& worker) {
  TANDEM_CHECK(
      made_under == fork_count(),
      "worker of ",
      worker,
      ": its thread stayed in the parent, because this process was forked after the thread's "
      "start; fork before the first use of devices, or start the child with exec");
}

}  // namespace

unsigned fork_count() noexcept {
  static const int kRegistered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)kRegistered;
  return forks.load(std::memory_order_relaxed);
}

struct Ticket::State {
  std::string worker;
  unsigned forks = fork_count();
  const std::uint64_t job = ++jobs;
  bool is_silent = false;
  std::atomic<bool> done{false};
  std::mutex mutex;  // guards error until done, and the condition
  std::condition_variable condition;
  std::exception_ptr error;

  void tell(JobEvent::Kind kind) const noexcept {
    if (is_silent) return;
    if (const auto* observers = Runtime::instance().observers()) [[unlikely]] {
      for (Observer* o : *observers)
        o->on_job({kind, job});
    }
  }
  void finish(std::exception_ptr e) {
    const std::scoped_lock lock(mutex);
    error = std::move(e);
    done.store(true, std::memory_order_release);
    condition.notify_all();
  }
};

bool Ticket::has_ended(Clock::time_point until) {
  check_here(state_->forks, state_->worker);
  spin_until([&] { return state_->done.load(std::memory_order_acquire); });
  std::unique_lock lock(state_->mutex);
  const auto done = [&] { return state_->done.load(std::memory_order_relaxed); };
  bool has_ended = true;
  if (until != Clock::time_point::max())
    has_ended = state_->condition.wait_until(lock, until, done);
  else
    state_->condition.wait(lock, done);
  if (has_ended) state_->tell(JobEvent::Kind::joined);
  return has_ended;
}

std::exception_ptr Ticket::outcome(Clock::time_point deadline) {
  if (!has_ended(deadline)) {
    throw Timeout(
        detail::concat("worker of ", state_->worker, ": the job did not end before its deadline"));
  }
  const std::scoped_lock lock(state_->mutex);
  // Handed over once, so that the exception object has one owner at a time.
  return std::exchange(state_->error, nullptr);
}

void Ticket::wait(Clock::time_point deadline) {
  if (std::exception_ptr error = outcome(deadline)) std::rethrow_exception(std::move(error));
}

struct Worker::State {
  struct Item {
    std::function<void()> job;
    std::shared_ptr<const Context> context;
    std::shared_ptr<Ticket::State> ticket;
  };

  std::string name;
  Jobs jobs = Jobs::observed;
  unsigned forks = fork_count();
  std::atomic<int> waiting{0};
  std::mutex mutex;  // guards queue, stopping, ended
  std::condition_variable condition;
  std::deque<Item> queue;
  bool stopping = false;
  bool ended = false;
  pthread_t thread{};

  void run();
  /// @return  0, or why there is no thread (an errno)
  static int start(const std::shared_ptr<State>& state);
  static void run_item(Item item);
};

void Worker::State::run_item(Item item) {
  std::exception_ptr error;
  item.ticket->tell(JobEvent::Kind::begun);
  {
    const ContextScope scope(std::move(item.context));
    try {
      item.job();
    } catch (...) {
      error = std::current_exception();
    }
    item.job = nullptr;  // what the job holds is released on this thread, before the waiter goes on
  }
  item.ticket->tell(JobEvent::Kind::ended);
  item.ticket->finish(std::move(error));
}

void Worker::State::run() {
  for (;;) {
    spin_until([&] { return waiting.load(std::memory_order_acquire) > 0; });
    Item item;
    {
      std::unique_lock lock(mutex);
      condition.wait(lock, [&] { return stopping || !queue.empty(); });
      if (queue.empty()) break;
      item = std::move(queue.front());
      queue.pop_front();
      waiting.fetch_sub(1, std::memory_order_relaxed);
    }
    run_item(std::move(item));
  }
  const std::scoped_lock lock(mutex);
  ended = true;
  condition.notify_all();
}

int Worker::State::start(const std::shared_ptr<State>& state) {
  auto own = std::make_unique<std::shared_ptr<State>>(state);
  const auto body = [](void* given) -> void* {
    const std::unique_ptr<std::shared_ptr<State>> mine(static_cast<std::shared_ptr<State>*>(given));
    (*mine)->run();
    return nullptr;
  };
  pthread_attr_t attributes;
  if (const int code = ::pthread_attr_init(&attributes); code != 0) return code;
  std::size_t usual = 0;
  ::pthread_attr_getstacksize(&attributes, &usual);
  ::pthread_attr_setstacksize(&attributes, std::max(usual, kStack));
  // Joined through `ended`, so that a hung job cannot block the destructor.
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int code = ::pthread_create(&state->thread, &attributes, body, own.get());
  ::pthread_attr_destroy(&attributes);
  if (code == 0) static_cast<void>(own.release());
  return code;
}

Worker::Worker(std::string name, Jobs jobs) : state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->jobs = jobs;
  if (const int code = State::start(state_); code != 0) {
    throw DeviceError(
        state_->name, "starting its thread", code, std::generic_category().message(code));
  }
}

Worker::~Worker() {
  if (state_->forks != fork_count()) return;  // nobody to wait for; the state stays as it is
  std::deque<State::Item> dropped;
  {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->waiting.fetch_add(1, std::memory_order_release);  // ends the spin
    state_->condition.notify_all();
    if (is_current()) return;
    if (!state_->condition.wait_for(lock, kGrace, [&] { return state_->ended; }))
      dropped.swap(state_->queue);
  }
  // The thread is left behind; what stood behind the hung job must neither run later nor be waited
  // for.
  for (State::Item& item : dropped) {
    item.job = nullptr;
    item.ticket->finish(std::make_exception_ptr(Timeout(detail::concat(
        "worker of ", state_->name, ": the job was dropped because the job before it hung"))));
  }
}

Ticket Worker::submit(std::function<void()> job) {
  check_here(state_->forks, state_->name);
  auto ticket = std::make_shared<Ticket::State>();
  ticket->worker = state_->name;
  ticket->is_silent = state_->jobs == Jobs::silent;
  ticket->tell(JobEvent::Kind::submitted);
  {
    const std::scoped_lock lock(state_->mutex);
    TANDEM_CHECK(!state_->stopping, "worker of ", state_->name, " is being destroyed");
    state_->queue.push_back({std::move(job), share_context(), ticket});
    state_->waiting.fetch_add(1, std::memory_order_release);
  }
  state_->condition.notify_one();
  return Ticket(std::move(ticket));
}

bool Worker::run_next() {
  State::Item item;
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->queue.empty()) return false;
    item = std::move(state_->queue.front());
    state_->queue.pop_front();
    state_->waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  State::run_item(std::move(item));
  return true;
}

bool Worker::is_current() const noexcept {
  return ::pthread_equal(::pthread_self(), state_->thread) != 0;
}

}  // namespace tandem
