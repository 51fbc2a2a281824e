// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::training {

/// Records the numbers of a run while it goes on, like PyTorch's SummaryWriter.
///
/// When a call returns, other programs can read the number in the file. One thread may use a writer
/// at a time.
class MetricsWriter {
 public:
  virtual ~MetricsWriter() = default;
  /// @param tag   for example "train/loss"; TensorBoard groups by the part before the first '/'
  /// @param step  the number of updates so far
  /// @throws FileError  if the system refuses. The numbers recorded before are in the file.
  virtual void add_scalar(std::string_view tag, double value, std::int64_t step) = 0;
};

enum class Append : std::uint8_t { no, yes };

/// Writes lines "step,seconds,tag,value" below a line with these names. Seconds are counted from
/// 1970.
///
/// @param append     With yes, continues an existing file; otherwise the file is written anew.
/// @param last_step  With append, the step from which the run continues. If the file is a regular
///                   one, it is cut off where lines of later steps begin, because these will come
///                   again, and before an incomplete last line. If this is not set, all lines stay.
/// @throws FileError  if the file cannot be written.
std::unique_ptr<MetricsWriter> csv_metrics(const std::string& path,
                                           Append append = Append::no,
                                           std::optional<std::int64_t> last_step = {});

/// Writes lines such as {"step": 1, "seconds": 1.7e9, "tag": "train/loss", "value": 0.5}. The value
/// is null if it is not finite.
///
/// @param append, last_step  as for csv_metrics
/// @throws FileError  if the file cannot be written.
std::unique_ptr<MetricsWriter> jsonl_metrics(const std::string& path,
                                             Append append = Append::no,
                                             std::optional<std::int64_t> last_step = {});

}  // namespace tandem::training
