// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::world {

/// What goes over the line of a watch.
struct Frame {
  enum class Kind : std::uint8_t {
    hello,    ///< to the server: who is at the other end; the text is the run's word
    beat,     ///< to the server: a sign of life; the text says what the process does
    word,     ///< to all, from a process
    bye,      ///< to the server: the process leaves
    end,      ///< to all: a process has gone; the text says how, "" if it has said bye
    states,   ///< to all: lines of "PROCESS MILLISECONDS TEXT" from the last signs of life
    ask,      ///< to the server: what its steady clock says
    clock,    ///< to who has asked
    note,     ///< to all, from a process; those who do not listen to notes lose it
    mention,  ///< as a word, about what is not a failure
  };
  Kind kind = Kind::beat;
  int process = 0;
  std::string text = {};
};

std::string encode(const Frame& frame);
/// A frame of kind clock, which is of one size.
std::string encode_clock(std::chrono::microseconds now);
/// What such a frame says; none: it is something else.
std::optional<std::chrono::microseconds> read_clock(const std::string& bytes);

/// Makes frames of the bytes that arrive.
class FrameReader {
 public:
  /// @return  the frames that are whole by now
  /// @throws CommError  nonsense has come.
  std::vector<Frame> add(const char* bytes, std::size_t n);
  /// Bytes of a frame that is not whole yet.
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  std::string waiting_;
};

}  // namespace tandem::world
