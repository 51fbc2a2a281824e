// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tensor/frame_draw.hpp"

#include <array>
#include <string>

#include <xxhash.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem {

// Inside of a module's forward a draw has its place by the frame, as dropout's masks do: the seed,
// the count of top-level forwards, the module's path and the call within it. A tensor that has the
// rows of the batch is a part of the whole batch's tensor, whose numbers are counted in row-major
// order; so they are those of one device, whatever the chunks.

DrawPosition next_draw(Generator* generator) {
  Generator& source = generator == nullptr ? default_generator() : *generator;
  ForwardFrame* const frame = context().frame.get();
  if (frame == nullptr)
    return {.seed = source.seed(),
            .forward = source.draws().fetch_add(1, std::memory_order_relaxed)};
  frame->drew = true;
  const std::string& path = current_module_path();
  const int call = frame->calls[path]++;
  // The seed of the hash tells calls within one module apart.
  return {.seed = generator == nullptr ? frame->seed : source.seed(),
          .forward = frame->forward,
          .path_hash = XXH64(path.data(), path.size(), static_cast<XXH64_hash_t>(call)),
          .in_forward = true};
}

BatchRowRange batch_range(std::int64_t rows, RowMatch match) {
  const Context& c = context();
  const std::int64_t own = c.rows.size();
  if (c.rows.end < 0 || own <= 0) return {0, rows};
  const bool matches = match == RowMatch::equal ? rows == own : rows % own == 0;
  if (!matches) return {0, rows};
  const std::int64_t times = rows / own;  // tokens of a sentence, say: each counts
  return {c.rows.begin * times, c.batch_rows < 0 ? c.rows.end * times : c.batch_rows * times};
}

kernels::RandomPlace next_place(const char* op,
                                const Shape& shape,
                                const RandomOptions& options,
                                RowMatch match) {
  const Context& c = context();
  const DrawPosition position = next_draw(options.generator);
  kernels::RandomPlace place{.seed = position.seed, .draw = position.forward};
  if (!position.in_forward) return place;
  const std::array<std::uint64_t, 2> mixed{position.forward, position.path_hash};
  place.draw = XXH64(mixed.data(), sizeof mixed, 0);
  if (options.rows == BatchRows::no || c.rows.end < 0) return place;
  const int dim = c.row_dim < 0 ? c.row_dim + shape.size() : c.row_dim;
  const bool has_dim = dim >= 0 && dim < shape.size();
  const std::int64_t rows = has_dim ? shape[dim] : 0;
  if (options.rows == BatchRows::yes) {
    match = RowMatch::multiple;
    const std::int64_t own = c.rows.size();
    TANDEM_CHECK(has_dim && (own <= 0 || rows % own == 0),
                 op,
                 ": with BatchRows::yes, dimension ",
                 c.row_dim,
                 " of shape ",
                 shape,
                 " must be a multiple of the replica's ",
                 own,
                 " rows");
  }
  if (!has_dim) return place;
  const BatchRowRange range = batch_range(rows, match);
  if (range.first == 0 && range.total == rows) return place;
  std::int64_t inner = 1;
  for (int d = dim + 1; d < shape.size(); ++d)
    inner *= shape[d];
  place.begin = range.first * inner;
  place.length = rows * inner;
  place.stride = range.total * inner;
  return place;
}

}  // namespace tandem
