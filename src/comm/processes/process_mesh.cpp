// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/process_mesh.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

#include "comm/meeting.hpp"
#include "comm/processes/links.hpp"
#include "world/plugin.hpp"
#include "world/watch.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;
using namespace std::chrono_literals;

/// How long the reason of a process that has gone is waited for: it may have said one.
constexpr auto kReason = 300ms;
constexpr const char* kClosed = "its connection closed";
/// How often a thread helps while it waits and nothing moves.
constexpr auto kHelp = 1ms;
/// The part of it in which the thread does not sleep, since a small message may come.
constexpr auto kStaysAwake = std::chrono::microseconds(50);
/// How long the mesh's thread rests between two looks.
constexpr auto kShortRest = 20us, kLongRest = 500us;

/// Numbers of the groups of two backends differ: the store and the watch have what is said of both.
constexpr std::uint64_t kFirstOfGloo = 1, kFirstOfMpi = std::uint64_t{1} << 32;

std::unique_ptr<ProcessLinks> connect(world::World& world,
                                      Backend backend,
                                      std::function<void()> moved) {
  const bool is_mpi = backend == Backend::mpi;
  const auto make = reinterpret_cast<MakeProcessLinks>(
      world::plugin_function(name(backend),
                             "tandem_make_links",
                             is_mpi ? "libopenmpi-dev (Debian)" : "libgloo-dev (Debian)"));
  const std::string prefix = concat("links/", name(backend), '/');
  const ProcessLinksOptions options{
      .process = world.rank(),
      .processes = world.size(),
      .host = world.host(),
      .timeout = world.store().timeout(),
      .set = [&](const auto& key, const auto& value) { world.store().set(prefix + key, value); },
      .get = [&](const auto& key) { return world.store().get(prefix + key); },
      .moved = std::move(moved)};
  try {
    return std::unique_ptr<ProcessLinks>(make(options));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw CommError(concat(name(backend), " cannot connect ", world.describe(), ": ", e.what()));
  }
}

std::shared_ptr<const Failure> failure(Failure::Kind kind, std::string text) {
  return std::make_shared<const Failure>(Failure{kind, std::move(text)});
}

}  // namespace

std::shared_ptr<ProcessMesh> ProcessMesh::of(world::World& world, Backend backend) {
  // Groups may outlive the world for a moment, on other threads.
  struct OfWorld {
    explicit OfWorld(std::shared_ptr<ProcessMesh> made) : mesh(std::move(made)) {}
    ~OfWorld() { mesh->close(); }
    OfWorld(const OfWorld&) = delete;
    OfWorld& operator=(const OfWorld&) = delete;
    std::shared_ptr<ProcessMesh> mesh;
  };
  const auto kept = world.keep(concat("mesh ", name(backend)), [&] {
    return std::make_shared<OfWorld>(std::make_shared<ProcessMesh>(world, backend));
  });
  return std::static_pointer_cast<OfWorld>(kept)->mesh;
}

ProcessMesh::ProcessMesh(world::World& world, Backend backend)
    : watch_(world.watch()),
      links_(connect(world, backend, [this] { events_.add(); })),
      links_tell_(links_->tells()),
      groups_(backend == Backend::mpi ? kFirstOfMpi : kFirstOfGloo) {
  if (watch_ != nullptr) {
    watch_->listen(
        this,
        {.on_word = [this](int process, const std::string& text) { hear_word(process, text); },
         .on_end = [this](int process, const std::string& how) { hear_end(process, how); },
         .collectives = [this] { return collectives_.load(); }});
  }
  thread_ = std::thread([this] { run(); });
}

void ProcessMesh::close() noexcept {
  if (watch_ != nullptr) {
    watch_->forget(this);
    const std::scoped_lock lock(watching_);
    watch_ = nullptr;
  }
  Entries ended;
  std::unique_lock lock(mutex_);
  ends_ = true;
  woken_.notify_all();
  lock.unlock();
  thread_.join();
  lock.lock();
  const auto why = failure(Failure::Kind::aborted, "the world of the processes has ended");
  for (Entry& entry : entries_)
    if (entry.failure == nullptr) entry.failure = why;
  while (!entries_.empty()) {  // pieces that ranks are running end first
    for (auto entry = entries_.begin(); entry != entries_.end();)
      settle(entry++, ended);
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  for (const auto& [group, mailbox] : mailboxes_)
    mailbox->close();
  ended.splice(ended.end(), kept_);
  links_.reset();
}

void ProcessMesh::check_open() const {
  if (ends_) throw CommError("the world of the processes has ended; keep it as long as its groups");
}

bool ProcessMesh::has(const ProcessLinks::Native& collective) const noexcept {
  const std::scoped_lock lock(mutex_);
  return links_ != nullptr && links_->has(collective);
}

int ProcessMesh::open_order(std::chrono::milliseconds timeout) {
  const std::scoped_lock lock(mutex_);
  check_open();
  try {
    return links_->open_order(timeout);
  } catch (const std::exception& e) {
    throw CommError(
        concat("make_group: not all processes have come to open native collectives: ", e.what()));
  }
}

void ProcessMesh::begin(std::shared_ptr<Activity> activity) {
  const std::scoped_lock lock(mutex_);
  check_open();
  Entry& entry = entries_.emplace_back();
  entry.activity = std::move(activity);
  for (const auto& [process, how] : gone_)
    lose(entry, process, how);
  {
    const std::scoped_lock hearing(hearing_);
    for (const Word& word : left_)
      lose_message(entry, word);
  }
  try {
    entry.activity->start(*links_);
  } catch (const ProcessLinks::Lost& e) {
    entry.has_started = false;
    lose(entry, e.process, kClosed);
  }
  woken_.notify_all();
}

std::shared_ptr<Mailbox> ProcessMesh::mailbox(const std::shared_ptr<const Membership>& group) {
  const std::scoped_lock lock(mutex_);
  check_open();
  auto& mailbox = mailboxes_[group->group];
  if (mailbox == nullptr) mailbox = std::make_shared<Mailbox>(group);
  return mailbox;
}

void ProcessMesh::lose(Entry& entry, int process, const std::string& how) {
  if (entry.fails_at) return;
  const std::string who = entry.activity->who(process);
  if (who.empty()) return;
  entry.lost = failure(Failure::Kind::aborted,
                       who + (how.empty() ? " has left: its program has ended" : " ended: " + how));
  entry.fails_at = Clock::now() + kReason;
}

/// Fails what has to fail. @return  whether it has changed
bool ProcessMesh::advance(Entry& entry) noexcept {
  if (entry.failure != nullptr) return false;
  if (entry.fails_at && Clock::now() >= *entry.fails_at) {
    entry.failure = entry.lost;
    return true;
  }
  if (!entry.has_started) return false;
  try {
    return entry.activity->advance(*links_);
  } catch (const ProcessLinks::Lost& e) {
    lose(entry, e.process, kClosed);
    return false;
  } catch (const Desync& e) {
    entry.failure = failure(Failure::Kind::desync, e.what());
  } catch (const std::exception& e) {
    entry.failure = failure(Failure::Kind::aborted, e.what());
  }
  return true;
}

/// Ends an entry that is done or has failed, and moves it to `ended`. The caller lets go of that
/// after the lock, because the operation may be the last to hold a group. @return  whether it is
/// gone
bool ProcessMesh::settle(Entries::iterator entry, Entries& ended) noexcept {
  if (entry->running > 0) return false;
  const bool is_done = entry->has_started && entry->activity->done();
  if (entry->failure == nullptr && !is_done) return false;
  const bool stays = entry->failure != nullptr && !links_->takes_back();
  Entries& to = stays ? kept_ : ended;
  to.splice(to.end(), entries_, entry);
  if (entry->failure != nullptr)
    entry->activity->fail(entry->failure);
  else
    entry->activity->complete();
  events_.add();
  return true;
}

bool ProcessMesh::turn() noexcept {
  Entries ended;
  std::unique_lock lock(mutex_);
  bool moved = false;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto now = entry++;
    moved = advance(*now) || moved;
    if (settle(now, ended)) {
      moved = true;
      continue;
    }
    if (now->failure != nullptr) continue;
    const int piece = now->activity->take_piece();
    if (piece == Activity::kNoPiece) continue;
    ++now->running;
    lock.unlock();
    now->activity->run(piece);
    lock.lock();
    --now->running;
    try {
      if (now->failure == nullptr) now->activity->finish(piece, *links_);
    } catch (const std::exception& e) {
      now->failure = failure(Failure::Kind::aborted, e.what());
    }
    if (!settle(now, ended)) events_.add();
    return true;
  }
  return moved;
}

void ProcessMesh::help(const std::function<bool()>& stop) noexcept {
  helpers_.fetch_add(1);
  auto begin = Clock::now();
  for (;;) {
    const auto seen = events_.count();
    if (stop()) break;
    if (turn()) {
      begin = Clock::now();
      continue;
    }
    const auto idle = Clock::now() - begin;
    if (idle >= kHelp) break;
    if (links_tell_ && idle >= kStaysAwake)
      events_.wait(seen, kHelp);
    else
      std::this_thread::yield();
  }
  helpers_.fetch_sub(1);
}

void ProcessMesh::run() {
  auto rest = std::chrono::microseconds(kShortRest);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [&] { return ends_ || !entries_.empty(); });
      if (ends_) return;
    }
    const auto seen = events_.count();
    if (helpers_.load() == 0 && turn()) {
      rest = kShortRest;
      continue;
    }
    if (links_tell_ && helpers_.load() == 0)
      events_.wait(seen, kLongRest);
    else
      std::this_thread::sleep_for(rest);
    rest = std::min<std::chrono::microseconds>(2 * rest, kLongRest);
  }
}

void ProcessMesh::stop(std::uint64_t group, const std::shared_ptr<const Failure>& why) noexcept {
  Entries ended;
  const std::scoped_lock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto now = entry++;
    if (now->activity->group() != group || now->failure != nullptr) continue;
    now->failure = why;
    settle(now, ended);
  }
}

void ProcessMesh::look_at(std::uint64_t group, const std::function<void(Activity&)>& f) const {
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.activity->group() == group) f(*entry.activity);
}

// A reason would have come before, on the same line. Who has left may have sent what is on its way.
void ProcessMesh::hear_end(int process, const std::string& how) {
  const std::scoped_lock lock(mutex_);
  gone_.emplace(process, how);
  for (Entry& entry : entries_) {
    if (entry.activity->who(process).empty()) continue;
    if (!how.empty()) entry.fails_at.reset();
    lose(entry, process, how);
    if (!how.empty()) entry.fails_at = Clock::now();
  }
}

std::string ProcessMesh::state(int process) const {
  const std::scoped_lock lock(watching_);
  return watch_ == nullptr ? "" : watch_->state(process);
}

}  // namespace tandem::comm
