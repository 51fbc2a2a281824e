// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::sim {

/// What a figure of a description measures.
enum class Dimension : std::uint8_t { bytes, bandwidth, flops, time, root_time };

/// The value of "900 GB/s" in bytes, bytes/s, FLOP/s, seconds, or seconds for the square root of a
/// byte; nothing if `text` is not a number and a unit of the dimension.
std::optional<double> parse_quantity(Dimension dimension, std::string_view text);

/// "900 GB/s": twelve digits at most, in the usual unit unless the number is small. Bytes are in
/// the unit that leaves the shortest number.
std::string format_quantity(Dimension dimension, double value);

/// The shortest text of a number that no other number has: that of a value differs from that of the
/// bound which it passes.
std::string exact_number(double value);

/// "GB/s", the unit that the dimension's errors propose.
const char* usual_unit(Dimension dimension) noexcept;

}  // namespace tandem::sim
