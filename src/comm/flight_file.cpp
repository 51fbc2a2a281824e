// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/flight_file.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"

#include "comm/flight_recorder.hpp"

namespace tandem::comm {
namespace {

using Json = nlohmann::json;
using std::chrono::microseconds;
using tandem::detail::concat;

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
constexpr std::int64_t kMost = std::int64_t{1} << 53;  // 285 years of microseconds
constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();
constexpr std::size_t kMostRanks = 4096, kMostProcesses = std::size_t{1} << 20;
constexpr std::size_t kMostName = 512;

/// A value of the file, which knows its place in it.
class Value {
 public:
  Value(const Json& json, std::string name) : json_(json), name_(std::move(name)) {}

  Value operator[](const char* key) const {
    const std::string name = name_.empty() ? key : concat(name_, '.', key);
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    if (!json_.is_object() || found == json_.end()) refuse(concat(name, " is missing"));
    return {*found, name};
  }
  bool is_null() const { return json_.is_null(); }
  std::int64_t number(std::int64_t least, std::int64_t most) const {
    const bool is_large =
        json_.is_number_unsigned() && json_.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (!json_.is_number_integer() || is_large || json_.get<std::int64_t>() < least ||
        json_.get<std::int64_t>() > most)
      refuse(
          concat(name_, " is ", shown(), "; expected a whole number from ", least, " to ", most));
    return json_.get<std::int64_t>();
  }
  int index(std::size_t size) const {
    return static_cast<int>(number(0, static_cast<std::int64_t>(size) - 1));
  }
  microseconds time(std::int64_t least = 0) const { return microseconds(number(least, kMost)); }
  std::string text(std::size_t most = kMostName) const {
    if (!json_.is_string() || json_.get_ref<const std::string&>().size() > most)
      refuse(concat(name_, " is ", shown(), "; expected a text of at most ", most, " bytes"));
    return json_.get<std::string>();
  }
  /// Calls f with each value of an array.
  template <class F>
  void each(std::size_t most, const F& f) const {
    if (!json_.is_array() || json_.size() > most)
      refuse(concat(name_, " is ", shown(), "; expected an array of at most ", most, " values"));
    for (std::size_t i = 0; i < json_.size(); ++i)
      f(Value(json_[i], concat(name_, '[', i, ']')));
  }
  [[noreturn]] static void refuse(const std::string& problem) { throw InvalidArgument(problem); }

 private:
  std::string shown() const {
    if (json_.is_array()) return concat("an array of ", json_.size(), " values");
    if (json_.is_object()) return "an object";
    const std::string text = json_.dump();
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }

  const Json& json_;
  std::string name_;
};

FlightFile::Operation operation_of(const Value& v,
                                   int rank,
                                   std::size_t ranks,
                                   microseconds origin) {
  const auto moment = [&](const char* key) -> std::optional<microseconds> {
    return v[key].is_null() ? std::nullopt : std::optional(origin + v[key].time());
  };
  FlightFile::Operation op{.number = v["number"].number(0, kMost),
                           .generation = v["generation"].number(0, kMost),
                           .tag = v["tag"].number(std::numeric_limits<int>::min(), kMostInt)};
  op.arrival = {
      .rank = rank,
      .call = {.kind = v["kind"].text(),
               .dtype = v["dtype"].text(),
               .op = v["op"].text(),
               .algorithm = v["algorithm"].text(),
               .count = v["common_count"].number(0, kMost),
               .root = static_cast<int>(v["root"].number(-1, static_cast<std::int64_t>(ranks) - 1)),
               .collectives = v["collectives"].number(1, kMost)},
      .elements = v["count"].number(0, kMost),
      .came = origin + v["start_us"].time(),
      .met = moment("met_us"),
      .ended = moment("end_us"),
      .state = v["state"].text()};
  using State = FlightRecorder::State;
  const std::string& state = op.arrival.state;
  if (std::ranges::none_of(
          std::initializer_list<State>{State::started, State::completed, State::failed},
          [&](State s) { return state == name(s); }))
    Value::refuse(concat("a state is '", state, "'; expected started, completed or failed"));
  return op;
}

void read_members(const Value& whole, FlightFile& file) {
  whole["processes"].each(kMostProcesses, [&](const Value& v) {
    file.processes.push_back(
        {.host = v["host"].text(), .pid = static_cast<int>(v["pid"].number(0, kMostInt))});
  });
  if (file.processes.empty()) Value::refuse("processes is empty");
  file.process = whole["process"].index(file.processes.size());
  whole["members"].each(kMostRanks, [&](const Value& v) {
    file.members.push_back(
        {.device = v["device"].text(), .process = v["process"].index(file.processes.size())});
  });
  if (file.members.empty()) Value::refuse("members is empty");
}

void read_clock(const Value& clock, FlightFile& file) {
  file.steady = clock["steady_us"].time();
  file.wall = clock["wall_us"].time();
  if (!clock["offset_us"].is_null())
    file.clock = {.offset = clock["offset_us"].time(-kMost), .error = clock["error_us"].time()};
}

void read_ranks(const Value& whole, FlightFile& file) {
  const microseconds origin = whole["clock"]["origin_us"].time();
  std::set<int> seen;
  whole["ranks"].each(kMostRanks, [&](const Value& v) {
    FlightFile::Rank rank{.rank = v["rank"].index(file.members.size())};
    const FlightRank& member = file.members[static_cast<std::size_t>(rank.rank)];
    if (member.process != file.process)
      Value::refuse(
          concat("rank ", rank.rank, " is of process ", member.process, ", not of ", file.process));
    if (!seen.insert(rank.rank).second)
      Value::refuse(concat("rank ", rank.rank, " is there twice"));
    v["operations"].each(FlightRecorder::kEntries, [&](const Value& op) {
      rank.operations.push_back(operation_of(op, rank.rank, file.members.size(), origin));
    });
    file.ranks.push_back(std::move(rank));
  });
}

std::string content_of(const std::string& path) {
  const FileReader reader(path);
  if (reader.size() > kMostBytes)
    Value::refuse(concat("it has ", reader.size(), " bytes; no record has more than ", kMostBytes));
  std::string text(reader.size(), '\0');
  reader.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void check_version(const Value& whole) {
  if (whole["format"].text() != FlightFile::kFormat)
    Value::refuse(
        concat("its format is '", whole["format"].text(), "', not '", FlightFile::kFormat, '\''));
  const std::int64_t version = whole["version"].number(0, kMost);
  if (version != FlightFile::kVersion)
    Value::refuse(concat("it is of version ",
                         version,
                         ", and this tandem reads version ",
                         FlightFile::kVersion,
                         "; read it with the tandem that wrote it"));
}

}  // namespace

FlightFile read_flight_file(const std::string& path) try {
  const std::string text = content_of(path);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw FileError(path,
                    static_cast<std::int64_t>(e.byte),
                    e.byte > text.size() ? "is cut off; its process was ended while it wrote"
                                         : "is no JSON, so no flight record");
  } catch (const Json::out_of_range&) {
    throw FileError(path, -1, "has a number that no flight record has");
  }
  const Value whole(json, "");
  check_version(whole);
  FlightFile file{.path = path};
  if (!whole["run"].is_null()) file.run = whole["run"].text();
  file.group = whole["group"].text();
  if (!whole["failure"].is_null()) file.failure = whole["failure"].text(kMostBytes);
  read_members(whole, file);
  read_clock(whole["clock"], file);
  read_ranks(whole, file);
  return file;
} catch (const InvalidArgument& e) {
  throw FileError(path, -1, concat("is no flight record that can be used: ", e.what()));
}

}  // namespace tandem::comm
