// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::training {

/// Takes the numbers of a run while it goes on, as PyTorch's SummaryWriter does.
///
/// A number is in the file, for whoever reads it meanwhile, when the call returns. Used by one
/// thread at a time.
class MetricsWriter {
 public:
  virtual ~MetricsWriter() = default;
  /// @param tag   "train/loss"; what TensorBoard groups by stands before the first '/'.
  /// @param step  updates so far.
  /// @throws FileError  the system refuses; the numbers before it are there.
  virtual void add_scalar(std::string_view tag, double value, std::int64_t step) = 0;
};

enum class Append : std::uint8_t { no, yes };

/// Lines "step,seconds,tag,value" below a line of these names; seconds are since 1970.
///
/// @param append     goes on with the file where there is one; otherwise it is written anew.
/// @param last_step  with append: where the run goes on. Lines of later steps, which will come
///                   again, and half a line at the end are cut off a regular file; none: all stays.
/// @throws FileError  it cannot be written.
std::unique_ptr<MetricsWriter> csv_metrics(const std::string& path,
                                           Append append = Append::no,
                                           std::optional<std::int64_t> last_step = {});

/// Lines {"step": 1, "seconds": 1.7e9, "tag": "train/loss", "value": 0.5}; null where the value is
/// no number.
///
/// @param append, last_step  as for csv_metrics.
/// @throws FileError  it cannot be written.
std::unique_ptr<MetricsWriter> jsonl_metrics(const std::string& path,
                                             Append append = Append::no,
                                             std::optional<std::int64_t> last_step = {});

/// A file of events for TensorBoard in `directory`, which is made where it is not there; a new one
/// each time, named as TensorFlow's are. Values are rounded to f32.
///
/// @throws FileError  it cannot be written.
std::unique_ptr<MetricsWriter> tensorboard_metrics(const std::string& directory);

}  // namespace tandem::training
