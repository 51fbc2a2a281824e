// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A hierarchy of control groups that shares out the cores, from /proc/self/mountinfo.
struct Hierarchy {
  bool unified = false;  // version 2
  fs::path shown;        // the group that the mount point shows
  fs::path mount;
};

/// `word` stands between commas of `list`.
bool lists(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string w; std::getline(words, w, ',');) {
    if (w == word) return true;
  }
  return false;
}

std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find(" - ");  // behind fields whose number varies
    if (end == std::string::npos) continue;
    std::istringstream front(line), back(line.substr(end + 3));
    std::string id, parent, device, shown, mount, type, source, options;
    front >> id >> parent >> device >> shown >> mount;
    back >> type >> source >> options;
    if (type == "cgroup2" || (type == "cgroup" && lists(options, "cpu")))
      found.push_back({type == "cgroup2", shown, root / fs::path(mount).relative_path()});
  }
  return found;
}

/// This process's group, from /proc/self/cgroup; empty where it is in none.
fs::path group_in(bool unified, const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return {};
}

/// The first numbers of a file; less than `count` where it says "max", or is not there.
std::vector<double> numbers(const fs::path& path, std::size_t count) {
  std::vector<double> found;
  std::ifstream file(path);
  for (double x = 0; found.size() < count && file >> x;)
    found.push_back(x);
  return found;
}

std::optional<double> quota_of(const fs::path& group, bool unified) {
  std::vector<double> time;  // quota and period, in microseconds
  if (unified) {
    time = numbers(group / "cpu.max", 2);
  } else {
    time = numbers(group / "cpu.cfs_quota_us", 1);
    for (const double period : numbers(group / "cpu.cfs_period_us", 1))
      time.push_back(period);
  }
  if (time.size() < 2 || time[0] <= 0 || time[1] <= 0) return std::nullopt;
  return time[0] / time[1];
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const Hierarchy& h : hierarchies(root)) {
    const fs::path group = group_in(h.unified, root);
    fs::path below = group.lexically_relative(h.shown);
    // In a container the mount may show its own group alone, which the process has another name of.
    if (below.empty() || *below.begin() == "..") below = ".";
    fs::path at = h.mount;
    for (const fs::path& part : below) {
      at /= part;
      if (const auto quota = quota_of(at, h.unified))
        least = std::min(least.value_or(*quota), *quota);
    }
    if (const auto quota = quota_of(h.mount, h.unified))
      least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

}  // namespace tandem
