// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::parallel {

/// Where parameters are updated, and how the replicas get the new values. All modes give the same
/// result, bit for bit.
enum class Mode : std::uint8_t {
  /// PyTorch's nn.DataParallel, for comparison: every forward broadcasts all parameters and
  /// buffers. Gradients are reduced to device 0 after backward has ended.
  classic,
  /// Device 0 owns and updates the model. Changed parameters are broadcast, and gradients are
  /// reduced to device 0 while backward runs.
  server,
  /// Each device reduces and updates its share of the parameters, keeps that share of the
  /// optimizer's state, and sends the updated values to all devices. Device 0 owns the model as
  /// before: its parameters are up to date after an update, and its gradients are gathered when
  /// they are read. An optimizer that needs whole tensors (LAMB) updates on device 0, here and in
  /// the other modes that share the update, but for `whole_tensors`.
  sharded,
  /// ZeRO-2: like sharded, but a device keeps only its share of the gradients. The rest of a unit's
  /// is given back once it has been reduced. A gradient that is read on device 0 is there, one unit
  /// at a time.
  sharded_gradients,
  /// ZeRO-3, PyTorch's FSDP: each device has its share of the parameters, gradients and state. A
  /// unit's parameters (`units`) are gathered where work uses them, and given back when another
  /// unit's are needed. So a model may be larger than a device. A parameter or gradient that is
  /// read on device 0 is there, one unit at a time.
  fully_sharded,
  /// PyTorch's DistributedDataParallel, for comparison: every device gets all gradients, summed
  /// while backward runs, and updates its own copy of the parameters with its own copy of the
  /// optimizer's state. No parameters are sent. What a caller changes on device 0 (a clipped
  /// gradient, a parameter) is sent to the other devices.
  ddp,
};

/// All modes.
inline constexpr std::array kModes{Mode::classic,
                                   Mode::server,
                                   Mode::sharded,
                                   Mode::sharded_gradients,
                                   Mode::fully_sharded,
                                   Mode::ddp};

/// What a mode is, in words of tables and of a program's help.
struct ModeWords {
  const char* option;   ///< its name for a program that trains in other ways too: "dp-sharded"
  const char* summary;  ///< in a few words
  const char* goal;     ///< what it is for
  const char* divides;  ///< what each device has a part of
  const char* collectives;
  const char* waits;   ///< what waits for whom
  const char* update;  ///< who updates what
};

/// The name of a mode in options and tables: "sharded".
const char* name(Mode mode) noexcept;
/// They live as long as the program.
const ModeWords& words_of(Mode mode) noexcept;
/// The mode with that name, in either spelling: "sharded_gradients" or "dp-sharded-gradients". None
/// if there is no such mode.
std::optional<Mode> parse_mode(std::string_view name) noexcept;

}  // namespace tandem::parallel
