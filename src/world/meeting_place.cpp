// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/meeting_place.hpp"

#include <charconv>
#include <limits>
#include <string_view>

#include "tandem/core/check.hpp"

namespace tandem::world {
namespace {

constexpr const char* kForms =
    "env://, tcp://HOST:PORT?rank=R&world_size=N, file:///PATH?rank=R&world_size=N or mpi://";

int number(std::string_view name, std::string_view value, int least, const std::string& url) {
  int x = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  TANDEM_CHECK(error == std::errc{} && end == value.data() + value.size() && x >= least,
               "world: '",
               url,
               "' has ",
               name,
               "='",
               value,
               "'; expected a number from ",
               least,
               " on");
  return x;
}

/// Rank and size of a URL's query, where it has them.
void read_query(std::string_view query, const std::string& url, Launch& launch, bool& has_rank) {
  bool has_size = false;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    TANDEM_CHECK(name == "rank" || name == "world_size",
                 "world: '",
                 url,
                 "' has '",
                 name,
                 "'; there are rank and world_size");
    (name == "rank" ? launch.rank : launch.size) = number(name, value, name == "rank" ? 0 : 1, url);
    (name == "rank" ? has_rank : has_size) = true;
  }
  TANDEM_CHECK(has_rank == has_size,
               "world: '",
               url,
               "' has ",
               has_rank ? "rank without world_size" : "world_size without rank",
               "; give both, or neither under a launcher");
  TANDEM_CHECK(launch.rank < launch.size,
               "world: '",
               url,
               "' has rank ",
               launch.rank,
               " of ",
               launch.size,
               "; ranks begin at 0");
}

}  // namespace

MeetingPlace read_url(const std::string& url, const std::optional<Launch>& launched) {
  const std::size_t colon = url.find("://");
  const std::string scheme = url.substr(0, colon == std::string::npos ? 0 : colon);
  TANDEM_CHECK(scheme == "env" || scheme == "tcp" || scheme == "file" || scheme == "mpi",
               "world: '",
               url,
               "' is no place to meet at; give ",
               kForms);
  const std::string rest = url.substr(colon + 3);
  const std::string target = rest.substr(0, rest.find('?'));
  MeetingPlace place{.launch = launched.value_or(Launch{.launcher = "nobody"}), .path = {}};
  if (scheme == "mpi") {
    TANDEM_CHECK(rest.empty(), "world: '", url, "' has more than mpi://, but MPI knows the rest");
    place.by_mpi = true;
    place.launch.store.reset();
    place.launch.other_ports.clear();
    place.launch.launcher_serves = false;
    return place;
  }
  bool has_rank = launched.has_value();
  if (target.size() < rest.size()) {
    bool in_url = false;
    read_query(std::string_view(rest).substr(target.size() + 1), url, place.launch, in_url);
    if (in_url) place.launch.launcher = "hand";
    has_rank = has_rank || in_url;
  }
  if (scheme == "env") {
    // mpirun says who is who, and nothing of where to meet.
    place.by_mpi =
        place.launch.size > 1 && !place.launch.store && place.launch.launcher == "mpirun";
    return place;
  }
  TANDEM_CHECK(has_rank,
               "world: '",
               url,
               "' says not which process this is, and no launcher does; add ?rank=R&world_size=N");
  if (scheme == "file") {
    TANDEM_CHECK(target.size() > 1 && target[0] == '/',
                 "world: '",
                 url,
                 "' has no path; write file:///PATH, with three strokes");
    place.path = target;
    place.launch.store.reset();
  } else {
    place.launch.store = parse_address(target);
  }
  place.launch.other_ports.clear();
  place.launch.launcher_serves = false;
  return place;
}

}  // namespace tandem::world
