// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::world {

/// What processes tell each other by, before there is anything else between them: keys and values
/// that all of them see, as PyTorch's Store (c10d).
///
/// Values are bytes. A number that add() counts is a value too: its decimal digits. All functions
/// may be called from any thread.
///
/// @throws Timeout    a wait has passed its deadline; the text has the keys that are missing.
/// @throws CommError  the store cannot be reached, or answers nonsense.
class Store {
 public:
  using Milliseconds = std::chrono::milliseconds;
  /// How long a wait takes at most, unless it is said.
  static constexpr Milliseconds kTimeout = std::chrono::seconds(300);

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// May return before others see it; what this client asks next is answered after it.
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// The value, which is waited for.
  virtual std::string get(const std::string& key) = 0;
  /// Adds to a number, which starts at 0. @return  the sum
  /// @throws InvalidArgument  the value is not a number.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;
  /// Sets the value if it is `expected`; "" expects that there is none.
  ///
  /// @return  the value that is there then; `expected` if there is none, as PyTorch's store does.
  virtual std::string compare_set(const std::string& key,
                                  const std::string& expected,
                                  const std::string& desired) = 0;
  /// Whether all of the keys are there.
  virtual bool check(const std::vector<std::string>& keys) = 0;
  /// Waits until all of the keys are there.
  virtual void wait(const std::vector<std::string>& keys, Milliseconds timeout) = 0;
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout()); }
  /// @return  whether it was there
  virtual bool delete_key(const std::string& key) = 0;
  /// Puts bytes behind the value, which starts empty. Returns as set does.
  virtual void append(const std::string& key, const std::string& value) = 0;
  virtual std::int64_t num_keys() = 0;

  virtual Milliseconds timeout() const = 0;
  /// Limits the waits of later calls, and up to 30 s also how long an answer may take.
  virtual void set_timeout(Milliseconds timeout) = 0;
};

}  // namespace tandem::world
