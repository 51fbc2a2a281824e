// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::parallel {

/// The blocks of one device's arena, as a call uses them: they have their memory all the time
/// (AwakeBlocks), or only while work uses them (SleepingBlocks).
///
/// To be used on the device's thread, or on the caller's while no call runs.
class ReplicaBlocks {
 public:
  virtual ~ReplicaBlocks() = default;

  virtual bool may_sleep() const noexcept = 0;
  /// Whether values that work has used stay until the job ends, and do not make room for others.
  virtual void keep_values(bool keep) noexcept = 0;
  /// From now on the gradients that work asks for are new ones, which begin from zero, or from the
  /// module's where those are to be added to.
  ///
  /// @param adds_to  by block; empty: all begin from zero.
  virtual void begin_backward(std::vector<std::uint8_t> adds_to) = 0;
  /// Who may write to values. What others write is lost, and refused when the values sleep.
  enum class Writes : std::uint8_t {
    kept,     ///< anyone: the shares get it
    refused,  ///< nobody, since other devices would not see it
  };
  virtual void set_writes(Writes writes) noexcept = 0;
  /// @throws InvalidArgument  values that are here have been written to, and that is refused. They
  ///                          sleep as they were before.
  virtual void check_unwritten() = 0;
  /// Gives up the gradients that a backward has made.
  ///
  /// @param collects  whether backwards go on making gradients that have not been reduced.
  virtual void discard_gradients(bool collects) = 0;
  enum class Ending : std::uint8_t { well, failed };
  /// A job has ended: its values sleep.
  virtual void end_job(Ending ending) = 0;
  /// Writes what was changed to the shares. All blocks give their memory back, but for gradients
  /// that have not been reduced. @throws InvalidArgument  see check_unwritten.
  virtual void sleep() = 0;
  /// The same for the values alone. @throws InvalidArgument  see check_unwritten.
  virtual void sleep_values() = 0;
  /// All blocks get their memory for good. @throws OutOfMemory
  virtual void wake_for_good() = 0;
};

/// A job of a device's replica, which may not write to values that sleep later. At its end the
/// values of the device's blocks sleep, and whether it ended well is noted. To be used on the
/// device's thread, which may end its job after the call has timed out.
class SleepAtEnd {
 public:
  explicit SleepAtEnd(ReplicaBlocks& blocks) noexcept;
  ~SleepAtEnd();
  SleepAtEnd(const SleepAtEnd&) = delete;
  SleepAtEnd& operator=(const SleepAtEnd&) = delete;

 private:
  ReplicaBlocks& blocks_;
  int exceptions_;
};

}  // namespace tandem::parallel
