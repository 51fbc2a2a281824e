// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/nn/difference.hpp"
#include "tandem/parallel/mode.hpp"
#include "tandem/runtime/device.hpp"

#include "report/recording.hpp"

namespace tandem::report {

/// One device's part of a mode's steps.
struct DeviceFigures {
  Device device;
  std::int64_t rows = 0;  ///< of the largest batch, the latest of these
  std::size_t peak_bytes = 0;
  std::size_t bytes_sent = 0;  ///< to other devices, in all steps
  std::size_t bytes_received = 0;
};

/// How a trained model does on other samples.
struct Test {
  double loss = 0;
  double accuracy = 0;
  std::string text;  ///< "test accuracy 0.9113"
};

/// How a mode did.
struct Mode {
  std::string mode;
  std::optional<parallel::ModeWords> words = std::nullopt;  ///< none: one device alone
  double p50 = 0, p90 = 0;                                  ///< ms of a step
  std::vector<double> losses;  ///< of the steps, from the first on; none: nothing was computed
  nn::Difference difference;   ///< from the first mode's weights
  std::optional<Test> test = std::nullopt;
  std::vector<DeviceFigures> devices;
  Recording recording;  ///< of further steps; 0 steps: there is none
};

/// How another library did, of which only time and weights are seen.
struct Peer {
  std::string name;
  double p50 = 0, p90 = 0;  ///< ms of a step
  nn::Difference difference;
};

/// The same training in several modes.
struct Comparison {
  std::string model, data, optimizer, dtype;
  std::int64_t batch = 0;  ///< rows
  std::int64_t steps = 0;
  int processes = 1;
  std::optional<std::uint64_t> seed = std::nullopt;
  std::string simulated;  ///< whose times these are, as describe(SimulatedMachine) says; empty:
                          ///< they were measured
  double tolerance = 0;   ///< of the weights' differences; 0: the dtype rounds too much to tell
  Remedies remedies;
  std::vector<Mode> modes;
  std::vector<Peer> peers;
};

/// Whether values were computed. Shape-only devices have neither losses nor weights.
bool has_losses(const Comparison& comparison);
/// "digits-mlp on digits, batches of 64 rows, 20 steps of sgd in f64".
std::string title(const Comparison& comparison);
/// How far the weights of the modes are from one another, and whether that is rounding.
std::string describe_weights(const Comparison& comparison);
/// The modes as a table, and what it shows in sentences.
///
/// @param with_tables  of each mode's memory, time and links between the two.
std::string text(const Comparison& comparison, bool with_tables);
/// @param comparison  with recordings.
nlohmann::json to_json(const Comparison& comparison);

}  // namespace tandem::report
