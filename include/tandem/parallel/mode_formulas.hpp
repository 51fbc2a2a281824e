// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/parallel/exchange.hpp"
#include "tandem/parallel/mode.hpp"
#include "tandem/parallel/sharding.hpp"

namespace tandem::nn {
class Module;
}

namespace tandem::parallel {

/// What each device holds and sends in a step of DataParallel, by the formulas of docs/sharding.md.
///
/// The numbers are those that the allocators and links count, to the byte, for a module whose parts
/// run one after the other in the order of TANDEM_MODULE, on a batch that needs no gradient and of
/// which each device has rows, without prefetch. Buffers, activations and inputs are not among
/// them. Reading is thread-safe.
class ModeFormulas {
 public:
  struct Setup {
    Mode mode = Mode::sharded;
    int devices = 1;
    Sharding sharding = {};
    /// Tensors of the optimizer's state for each parameter, of its size and type: 2 for Adam, 1 for
    /// SGD with momentum.
    int states = 2;
    std::int64_t accumulate = 1;  ///< micro-batches per step
    /// `step`, or a forward whose outputs are gathered and a backward through them.
    enum class Calls : std::uint8_t { step, forward_and_backward };
    Calls calls = Calls::step;
    Exchange exchange = {};
  };
  enum class Figure : std::uint8_t {
    parameters,          ///< between steps
    gradients,           ///< likewise
    state,               ///< likewise; the optimizer's
    parameters_in_step,  ///< at most, besides those between steps
    gradients_in_step,   ///< likewise
    sent,                ///< parameters and gradients, in a step
  };
  static constexpr std::array kFigures{Figure::parameters,
                                       Figure::gradients,
                                       Figure::state,
                                       Figure::parameters_in_step,
                                       Figure::gradients_in_step,
                                       Figure::sent};
  static constexpr bool is_of_step(Figure figure) noexcept {
    return figure >= Figure::parameters_in_step;
  }

  /// @param module  may be wrapped, or not yet. It is not changed, and its values are not read.
  /// @throws InvalidArgument  there is no device, a micro-batch too few, a negative number of
  ///                          states, or units that do not fit the module (UnitPolicy).
  /// @cost  a walk over the module's tensors.
  ModeFormulas(nn::Module& module, Setup setup);

  /// Bytes on a device, or from it. @throws InvalidArgument  there is no such device.
  std::size_t nbytes(Figure figure, int device) const;
  /// The formula of a device's bytes: "2 S/n". @throws InvalidArgument  there is no such device.
  std::string formula(Figure figure, int device) const;
  /// What the letters of the formulas stand for, in a sentence: "n = 4 devices, S = 7454720 bytes
  /// of parameters".
  std::string legend() const;

 private:
  bool shares_gradients() const noexcept;
  bool shares_values() const noexcept;
  bool offloads() const noexcept { return setup_.sharding.offload.has_value() && shares_values(); }
  bool has_state(int device) const noexcept;
  std::size_t sent_by(int device) const;
  std::string formula_of_sent(int device) const;
  void check(int device) const;

  Setup setup_;
  std::size_t whole_ = 0, trained_ = 0;  // S, T
  std::vector<std::size_t> own_;         // by device: its share of T
  std::size_t units_ = 0, largest_ = 0;  // their number, and U
  std::size_t gathered_ = 0;             // G
  std::size_t unreduced_ = 0;            // gradients that are there at the same time
};

/// "parameters", "parameters in a step"
const char* name(ModeFormulas::Figure figure) noexcept;

}  // namespace tandem::parallel
