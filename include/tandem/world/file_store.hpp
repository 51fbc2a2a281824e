// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tandem/world/store.hpp"

namespace tandem::world {

/// A store in a file that all processes see: a log, to which each appends under a lock (flock). For
/// processes of one machine, or of several with a shared folder whose file system has locks.
///
/// The file stays when the store goes: whoever meets by it removes it, or a later run finds it.
class FileStore final : public Store {
 public:
  /// @param path     is created if it is not there; its folder is.
  /// @param timeout  of waits
  /// @throws FileError  the file cannot be opened, or is not a store.
  explicit FileStore(std::string path, Milliseconds timeout = kTimeout);
  ~FileStore() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compare_set(const std::string& key,
                          const std::string& expected,
                          const std::string& desired) override;
  bool check(const std::vector<std::string>& keys) override;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  bool delete_key(const std::string& key) override;
  void append(const std::string& key, const std::string& value) override;
  std::int64_t num_keys() override;
  Milliseconds timeout() const override { return timeout_; }
  void set_timeout(Milliseconds timeout) override { timeout_ = timeout; }

  const std::string& path() const noexcept { return path_; }

 private:
  class Log;

  std::string path_;
  std::atomic<Milliseconds> timeout_;
  std::mutex mutex_;  // guards the log
  std::unique_ptr<Log> log_;
};

}  // namespace tandem::world
