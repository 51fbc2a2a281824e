// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/metric_rows.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/ranks/rank_calls.hpp"

namespace tandem::parallel {
namespace {

using Json = nlohmann::json;
using tandem::detail::concat;

/// Why these rows cannot be gathered; "": they can.
std::string objection_to(const Tensor& rows, std::int64_t repeated, Device device) {
  if (!rows.defined()) return "gives an undefined tensor; a rank without rows gives one of 0 rows";
  if (rows.ndim() == 0)
    return "gives a scalar, which has no rows; give one value for each row, or use mean(sum, rows)";
  if (rows.device() != device)
    return concat("gives rows on ", rows.device(), ", but is on ", device, "; call .to(device())");
  if (repeated < 0 || repeated > rows.size(0))
    return concat("has ", rows.size(0), " rows, of which ", repeated, " cannot be repeated ones");
  return "";
}

/// What the other ranks have to know of a rank's rows.
Json outline_of(const Tensor& rows, std::int64_t repeated, Device device) {
  std::string objection = objection_to(rows, repeated, device);
  if (!objection.empty()) return {{"objection", std::move(objection)}};
  const Shape& shape = rows.shape();
  return {{"dtype", name(rows.dtype())},
          {"row", std::vector<std::int64_t>(shape.begin() + 1, shape.end())},
          {"rows", rows.size(0) - repeated}};
}

/// @throws InvalidArgument  on all ranks alike, since all have the same outlines.
void check_outlines(const std::vector<Json>& outlines) {
  for (std::size_t r = 0; r < outlines.size(); ++r) {
    TANDEM_CHECK(!outlines[r].contains("objection"),
                 "gather_for_metrics: rank ",
                 r,
                 ' ',
                 outlines[r]["objection"].get<std::string>());
  }
  const auto row_of = [](const Json& outline) {
    return concat(outline["dtype"].get<std::string>(), " of shape ", outline["row"].dump());
  };
  for (std::size_t r = 1; r < outlines.size(); ++r) {
    TANDEM_CHECK(row_of(outlines[r]) == row_of(outlines[0]),
                 "gather_for_metrics: a row of rank 0 is ",
                 row_of(outlines[0]),
                 ", and one of rank ",
                 r,
                 ' ',
                 row_of(outlines[r]),
                 "; give rows of one dtype and shape on all ranks");
  }
}

}  // namespace

Tensor gather_metric_rows(comm::Communicator& comm, const Tensor& rows, std::int64_t repeated) {
  const Json own = outline_of(rows, repeated, comm.device());
  std::vector<Json> outlines;
  for (const std::string& text : gather_texts(comm, RankCall::gather_for_metrics, own.dump()))
    outlines.push_back(Json::parse(text));
  check_outlines(outlines);
  Shape shape = rows.shape();
  shape[0] = 0;
  for (const Json& outline : outlines)
    shape[0] += outline["rows"].get<std::int64_t>();
  return freeing_others(comm, [&] {
    const Tensor whole = empty(shape, {.dtype = rows.dtype(), .device = comm.device()});
    comm.all_gather(rows.narrow(0, 0, rows.size(0) - repeated).contiguous(), whole);
    return whole;
  });
}

}  // namespace tandem::parallel
