// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stand_in/machine/clock.hpp"

namespace tandem::stand_in {

/// A task of a stream, which uses memory.
struct Use {
  const char* what = nullptr;  // lives as long as the process
  std::size_t stream = 0;
  std::uint64_t task = 0;
};

/// A use before another one, without anything that puts it there.
struct Conflict {
  Use earlier;
  bool earlier_writes;
};

/// For each range of bytes of the GPUs' blocks: who wrote it last, and who has read it since.
class Uses {
 public:
  void add(const void* block, std::size_t nbytes);
  void remove(const void* block, std::size_t nbytes);
  /// Notes that bytes of one block are used.
  ///
  /// @param after  what comes before the use.
  /// @return  the uses that do not, and should.
  std::vector<Conflict> read(const void* p, std::size_t nbytes, const Use& use, const Clock& after);
  std::vector<Conflict> write(const void* p,
                              std::size_t nbytes,
                              const Use& use,
                              const Clock& after);
  /// Who wrote the byte last; no name if nobody did.
  Use writer(const void* p) const;

 private:
  struct Range {
    std::uintptr_t end;
    Use writer;
    std::vector<Use> readers;  // one for each stream
  };
  using Ranges = std::map<std::uintptr_t, Range>;

  /// A range that begins there, if one covers the byte.
  Ranges::iterator cut(std::uintptr_t at);
  /// The ranges of these bytes and of no others.
  std::pair<Ranges::iterator, Ranges::iterator> ranges_of(const void* p, std::size_t nbytes);
  static void note_writer(const Range& range, const Clock& after, std::vector<Conflict>& conflicts);

  Ranges ranges_;
};

}  // namespace tandem::stand_in
