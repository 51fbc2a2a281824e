// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/file_store.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/check.hpp"
#include "tandem/io/file.hpp"

#include "world/key_values.hpp"
#include "world/store_protocol.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenReads =
    std::chrono::milliseconds(5);  // between looks while a key is waited for

/// What is appended: a key that has got a value, or that has been deleted.
enum class Entry : std::uint8_t { value = 'v', deleted = 'd' };

}  // namespace

/// The file, and what has been read of it.
class FileStore::Log {
 public:
  explicit Log(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (fd_.get() < 0) fail("cannot be opened as a store");
  }

  /// What the log says now.
  const KeyValues& read() {
    const Locked locked(*this, LOCK_SH);
    catch_up();
    return values_;
  }
  /// Catches up, and appends what `change` returns, with nobody between.
  template <class Change>
  void write(const Change& change) {
    const Locked locked(*this, LOCK_EX);
    catch_up();
    const MessageWriter entry = change(std::as_const(values_));
    std::string_view bytes = entry.bytes();
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno != EINTR) {
        const int error = errno;
        static_cast<void>(
            !::ftruncate(fd_.get(), static_cast<off_t>(read_)));  // no half of an entry
        errno = error;
        fail("cannot be written");
      }
      if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    catch_up();
  }

 private:
  class Locked {
   public:
    Locked(Log& log, int how) : log_(log) {
      while (::flock(log.fd_.get(), how) != 0)
        if (errno != EINTR) log.fail("cannot be locked");
    }
    ~Locked() { ::flock(log_.fd_.get(), LOCK_UN); }

   private:
    Log& log_;
  };

  [[noreturn]] void fail(const char* what) const {
    throw FileError(
        path_, -1, tandem::detail::concat(what, ": ", std::generic_category().message(errno)));
  }

  void catch_up() {
    struct stat now {};
    if (::fstat(fd_.get(), &now) != 0) fail("cannot be read");
    std::string bytes(static_cast<std::size_t>(std::max<off_t>(now.st_size - read_, 0)), '\0');
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t n = ::pread(
          fd_.get(), bytes.data() + have, bytes.size() - have, read_ + static_cast<off_t>(have));
      if (n < 0 && errno != EINTR) fail("cannot be read");
      if (n == 0) break;
      if (n > 0) have += static_cast<std::size_t>(n);
    }
    take(std::string_view(bytes).substr(0, have));
  }

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      MessageReader entry(bytes);
      const auto kind = static_cast<Entry>(entry.byte());
      const std::string key = entry.text();
      std::string value = kind == Entry::value ? entry.text() : "";
      if (!entry.is_whole() || (kind != Entry::value && kind != Entry::deleted))
        throw FileError(path_, read_, "is no store; remove it, or give another path");
      if (kind == Entry::value)
        values_.set(key, std::move(value));
      else
        values_.erase(key);
      bytes.remove_prefix(entry.used());
      read_ += static_cast<off_t>(entry.used());
    }
  }

  std::string path_;
  tandem::detail::Descriptor fd_;
  off_t read_ = 0;
  KeyValues values_;
};

namespace {

MessageWriter entry_of(const std::string& key, const std::string& value) {
  MessageWriter entry;
  entry.byte(static_cast<std::uint8_t>(Entry::value)).text(key).text(value);
  return entry;
}

/// The value after a change that is made to a copy.
template <class Change>
MessageWriter changed(const KeyValues& values, const std::string& key, const Change& change) {
  KeyValues one;
  if (const std::string* value = values.find(key)) one.set(key, *value);
  change(one);
  const std::string* value = one.find(key);
  return value == nullptr ? MessageWriter() : entry_of(key, *value);
}

}  // namespace

FileStore::FileStore(std::string path, Milliseconds timeout)
    : path_(std::move(path)), timeout_(timeout), log_(std::make_unique<Log>(path_)) {
  log_->read();
}

FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  log_->write([&](const KeyValues&) { return entry_of(key, value); });
}

std::string FileStore::get(const std::string& key) {
  wait({key}, timeout_);
  const std::scoped_lock lock(mutex_);
  const std::string* value = log_->read().find(key);
  if (value == nullptr)
    throw CommError(
        tandem::detail::concat(path_, ": the key '", key, "' was deleted while it was read"));
  return *value;
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
  const std::scoped_lock lock(mutex_);
  std::int64_t sum = 0;
  log_->write([&](const KeyValues& values) {
    return changed(values, key, [&](KeyValues& one) { sum = one.add(key, amount); });
  });
  return sum;
}

std::string FileStore::compare_set(const std::string& key,
                                   const std::string& expected,
                                   const std::string& desired) {
  const std::scoped_lock lock(mutex_);
  std::string now;
  log_->write([&](const KeyValues& values) {
    return changed(
        values, key, [&](KeyValues& one) { now = one.compare_set(key, expected, desired); });
  });
  return now;
}

bool FileStore::check(const std::vector<std::string>& keys) {
  const std::scoped_lock lock(mutex_);
  return log_->read().has(keys);
}

void FileStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (!check(keys)) {
    if (Clock::now() >= deadline) {
      const std::scoped_lock lock(mutex_);
      const auto missing = log_->read().missing(keys);
      if (missing.empty()) return;
      throw Timeout(tandem::detail::concat(path_,
                                           ": after ",
                                           timeout.count(),
                                           " ms nobody has set '",
                                           missing.front(),
                                           "' and ",
                                           missing.size() - 1,
                                           " more"));
    }
    std::this_thread::sleep_for(kBetweenReads);
  }
}

bool FileStore::delete_key(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  bool was_there = false;
  log_->write([&](const KeyValues& values) {
    was_there = values.find(key) != nullptr;
    MessageWriter entry;
    if (was_there) entry.byte(static_cast<std::uint8_t>(Entry::deleted)).text(key);
    return entry;
  });
  return was_there;
}

void FileStore::append(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  log_->write([&](const KeyValues& values) {
    return changed(values, key, [&](KeyValues& one) { one.append(key, value); });
  });
}

std::int64_t FileStore::num_keys() {
  const std::scoped_lock lock(mutex_);
  return log_->read().size();
}

}  // namespace tandem::world
