// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/flight.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "comm/flight_file.hpp"
#include "comm/flight_merge.hpp"

namespace tandem::comm {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using tandem::detail::concat;

constexpr const char* kRemedy =
    "give the folder that TANDEM_COMM_DUMP, or GroupOptions::dump_folder, named when the program "
    "failed";

std::vector<std::string> files_of(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".json") paths.push_back(entry->path().string());
  if (error) throw FileError(folder, -1, concat(error.message(), "; ", kRemedy));
  std::ranges::sort(paths);
  return paths;
}

std::vector<FlightFile> read_all(const std::string& folder, std::vector<std::string>& warnings) {
  std::vector<FlightFile> files;
  for (const std::string& path : files_of(folder)) {
    try {
      files.push_back(read_flight_file(path));
    } catch (const FileError& e) {
      warnings.emplace_back(e.what());
    }
  }
  if (files.empty() && warnings.empty())
    throw FileError(folder, -1, concat("there is no flight record; ", kRemedy));
  if (files.empty())
    throw FileError(folder,
                    -1,
                    concat("none of its ",
                           warnings.size(),
                           " files can be used, the first because ",
                           warnings.front(),
                           "; ",
                           kRemedy));
  return files;
}

bool is_same(const FlightProcess& a, const FlightProcess& b) {
  return a.host == b.host && a.pid == b.pid;
}

/// Records by run. A group that was made without the world is of the run that its process is in.
class Runs {
 public:
  explicit Runs(std::vector<FlightFile> files) {
    std::vector<FlightFile> alone;
    for (FlightFile& file : files) {
      if (file.run.empty())
        alone.push_back(std::move(file));
      else
        by_name_[file.run].push_back(std::move(file));
    }
    for (FlightFile& file : alone)
      place(std::move(file));
  }
  std::map<std::string, std::vector<FlightFile>> take() && { return std::move(by_name_); }

 private:
  void place(FlightFile file) {
    const FlightProcess own = file.processes[static_cast<std::size_t>(file.process)];
    for (auto& [name, files] : by_name_) {
      const auto& all = files.front().processes;
      const auto found = std::ranges::find_if(all, [&](const auto& p) { return is_same(p, own); });
      if (found == all.end()) continue;
      const auto same_clock = std::ranges::find_if(
          files, [&](const FlightFile& f) { return f.process == found - all.begin(); });
      file.process = static_cast<int>(found - all.begin());
      file.processes = all;
      file.clock = same_clock == files.end() ? std::nullopt : same_clock->clock;
      for (FlightRank& member : file.members)
        member.process = file.process;
      files.push_back(std::move(file));
      return;
    }
    by_name_[concat(own.host, '-', own.pid)].push_back(std::move(file));
  }

  std::map<std::string, std::vector<FlightFile>> by_name_;
};

template <class F>
void each_moment(FlightFile& file, const F& f) {
  f(file.steady);
  for (FlightFile::Rank& rank : file.ranks) {
    for (FlightFile::Operation& op : rank.operations) {
      f(op.arrival.came);
      if (op.arrival.met) f(*op.arrival.met);
      if (op.arrival.ended) f(*op.arrival.ended);
    }
  }
}

/// Puts the moments of all files on process 0's clock, counted from the first of them.
void align(std::vector<FlightFile>& files) {
  // A file whose clock is not known is placed by the wall clocks, relative to one that is.
  const auto known = std::ranges::find_if(files, [](const auto& f) { return f.clock.has_value(); });
  const FlightFile& reference = known == files.end() ? files.front() : *known;
  const microseconds wall_to_steady = reference.steady - reference.wall +
                                      (reference.clock ? reference.clock->offset : microseconds(0));
  microseconds first = microseconds::max();
  for (FlightFile& file : files) {
    const microseconds shift =
        file.clock ? file.clock->offset : file.wall - file.steady + wall_to_steady;
    each_moment(file, [&](microseconds& moment) {
      moment += shift;
      first = std::min(first, moment);
    });
  }
  for (FlightFile& file : files)
    each_moment(file, [&](microseconds& moment) { moment -= first; });
}

/// Drops files that say something else of their run, or of their group, than most of them do.
void drop_contradictions(std::vector<FlightFile>& files,
                         std::string (*said)(const FlightFile&),
                         std::vector<std::string>& warnings) {
  std::map<std::string, int> counts;
  for (const FlightFile& file : files)
    ++counts[said(file)];
  const auto usual =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
  const auto others = std::stable_partition(
      files.begin(), files.end(), [&](const FlightFile& file) { return said(file) == usual; });
  for (auto file = others; file != files.end(); ++file)
    warnings.push_back(concat(file->path,
                              ": is passed over, since it names other processes or ranks than ",
                              files.front().path,
                              "; move what is of another run out of the folder"));
  files.erase(others, files.end());
}

std::string processes_of(const FlightFile& file) {
  std::string text;
  for (const FlightProcess& p : file.processes)
    text += concat(p.host, ' ', p.pid, '\n');
  return text;
}

std::string members_of(const FlightFile& file) {
  std::string text;
  for (const FlightRank& m : file.members)
    text += concat(m.device, ' ', m.process, '\n');
  return text;
}

/// When the group's trouble began: at the first collective that lacks somebody or differs, else at
/// its failure, else never.
FlightMoment trouble(const FlightGroup& group) {
  FlightMoment moment = FlightMoment::max();
  for (const auto& index : {group.first_difference, group.first_missing})
    if (index) moment = std::min(moment, group.collectives[*index].arrivals.front().came);
  if (moment == FlightMoment::max() && !group.failures.empty()) moment = group.failures.front().at;
  return moment;
}

FlightRun merge_run(const std::string& name,
                    std::vector<FlightFile> files,
                    std::vector<std::string>& warnings) {
  drop_contradictions(files, processes_of, warnings);
  align(files);
  FlightRun run{.name = name, .processes = files.front().processes};
  std::map<std::pair<std::string, int>, std::vector<FlightFile>> groups;
  for (FlightFile& file : files) {
    FlightProcess& process = run.processes[static_cast<std::size_t>(file.process)];
    process.files.push_back(file.path);
    if (file.clock) process.clock_error = file.clock->error;
    run.written = std::max(run.written, file.wall);
    const bool is_of_one =
        std::ranges::all_of(file.members, [&](const auto& m) { return m.process == file.process; });
    groups[{file.group, is_of_one ? file.process : -1}].push_back(std::move(file));
  }
  for (auto& [key, of_group] : groups) {
    drop_contradictions(of_group, members_of, warnings);
    std::vector<const FlightFile*> all;
    for (const FlightFile& file : of_group)
      all.push_back(&file);
    run.groups.push_back(merge_flight_group(all));
  }
  std::ranges::stable_sort(run.groups, {}, trouble);
  return run;
}

}  // namespace

Flight read_flight(const std::string& folder) {
  Flight flight;
  auto runs = Runs(read_all(folder, flight.warnings)).take();
  for (auto& [name, files] : runs)
    flight.runs.push_back(merge_run(name, std::move(files), flight.warnings));
  std::ranges::stable_sort(flight.runs, std::ranges::greater{}, &FlightRun::written);
  return flight;
}

}  // namespace tandem::comm
