// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tandem/core/check.hpp"

#include "core/splitmix64.hpp"
#include "world/node_list.hpp"

namespace tandem::world {
namespace {

using tandem::detail::concat;

constexpr std::size_t kMostDigits = 9;  // of a step's number; those of scripts have more
constexpr int kMostProcesses = std::numeric_limits<int>::max();
/// Ports that jobs of Slurm get by their number; none of them is an ephemeral one of Linux.
constexpr std::uint64_t kFirstPort = 15'000, kPorts = 15'000;
constexpr std::uint64_t kTries = 8;  // ports that one step of a job may take

/// Variables, as numbers in a range.
class Variables {
 public:
  explicit Variables(const GetVariable& get) : get_(get) {}

  std::optional<std::string> text(const char* name) const { return get_(name); }
  bool has(const char* name) const { return get_(name).has_value(); }
  int number(const char* name, int least, int most) const {
    const std::string value = get_(name).value_or("");
    int x = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
    if (value.empty() || error != std::errc{} || end != value.data() + value.size() || x < least ||
        x > most)
      throw InvalidArgument(concat("the environment has ",
                                   name,
                                   "='",
                                   value,
                                   "'; expected a number from ",
                                   least,
                                   " to ",
                                   most,
                                   ", or unset it if no launcher started this process"));
    return x;
  }
  int number_or(const char* name, int least, int most, int otherwise) const {
    return has(name) ? number(name, least, most) : otherwise;
  }
  /// Whether a pair is there. @throws InvalidArgument  one of the two is missing.
  bool has_both(const char* a, const char* b) const {
    if (has(a) == has(b)) return has(a);
    const char* there = has(a) ? a : b;
    throw InvalidArgument(concat("the environment has ",
                                 there,
                                 " without ",
                                 has(a) ? b : a,
                                 "; set both, or neither if this process runs alone"));
  }

 private:
  const GetVariable& get_;
};

/// The rank, the size and those on this node, by the names of a launcher's variables.
struct Names {
  const char *rank, *size, *local_rank, *local_size;
};

Launch read_ranks(const Variables& v, const char* launcher, const Names& names) {
  Launch launch{.launcher = launcher};
  launch.size = v.number(names.size, 1, kMostProcesses);
  launch.rank = v.number(names.rank, 0, launch.size - 1);
  launch.local_size = v.number_or(names.local_size, 1, launch.size, 1);
  launch.local_rank = v.number_or(names.local_rank, 0, launch.size - 1, 0);
  launch.local_size = std::max(launch.local_size, launch.local_rank + 1);
  launch.nodes = (launch.size + launch.local_size - 1) / launch.local_size;
  launch.node = launch.rank / launch.local_size;
  return launch;
}

/// A host, as a variable names it: an address of IPv6 may stand in brackets, as in a URL.
std::string host_of(const std::string& text) {
  const bool has_brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return has_brackets ? text.substr(1, text.size() - 2) : text;
}

std::optional<Address> master(const Variables& v) {
  if (!v.has("MASTER_ADDR") && !v.has("MASTER_PORT")) return std::nullopt;
  if (!v.has_both("MASTER_ADDR", "MASTER_PORT")) return std::nullopt;
  return Address{host_of(*v.text("MASTER_ADDR")),
                 static_cast<std::uint16_t>(v.number("MASTER_PORT", 1, 65535))};
}

/// torchrun, tandem launch, and whoever sets the same variables.
std::optional<Launch> from_ranks(const Variables& v) {
  if (!v.has_both("RANK", "WORLD_SIZE")) return std::nullopt;
  // In a launch of torchrun inside one of ours, the variable of ours is still there.
  const bool is_torchrun = v.has("TORCHELASTIC_RUN_ID");
  const bool is_ours =
      v.has("TANDEM_LAUNCH_ID") && v.text("TORCHELASTIC_RUN_ID").value_or("tandem") == "tandem";
  Launch launch = read_ranks(v,
                             is_ours       ? "tandem launch"
                             : is_torchrun ? "torchrun"
                                           : "environment",
                             {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"});
  launch.nodes = v.number_or("GROUP_WORLD_SIZE", 1, launch.size, launch.nodes);
  launch.node =
      v.number_or("GROUP_RANK", 0, launch.nodes - 1, std::min(launch.node, launch.nodes - 1));
  launch.store = master(v);
  launch.launcher_serves = v.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.run = v.text(is_ours ? "TANDEM_LAUNCH_ID" : "TORCHELASTIC_RUN_ID").value_or("");
  launch.restart = v.number_or("TORCHELASTIC_RESTART_COUNT", 0, kMostProcesses, 0);
  return launch;
}

std::optional<Launch> from_open_mpi(const Variables& v) {
  if (!v.has_both("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return std::nullopt;
  return read_ranks(v,
                    "mpirun",
                    {"OMPI_COMM_WORLD_RANK",
                     "OMPI_COMM_WORLD_SIZE",
                     "OMPI_COMM_WORLD_LOCAL_RANK",
                     "OMPI_COMM_WORLD_LOCAL_SIZE"});
}

std::optional<Launch> from_horovod(const Variables& v) {
  if (!v.has_both("HOROVOD_RANK", "HOROVOD_SIZE")) return std::nullopt;
  Launch launch =
      read_ranks(v,
                 "horovodrun",
                 {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"});
  launch.node = v.number_or("HOROVOD_CROSS_RANK", 0, launch.nodes - 1, launch.node);
  launch.store = master(v);
  return launch;
}

std::optional<Launch> from_pmi(const Variables& v) {
  if (!v.has_both("PMI_RANK", "PMI_SIZE")) return std::nullopt;
  Launch launch =
      read_ranks(v, "PMI", {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"});
  launch.store = master(v);
  return launch;
}

/// Tasks on a node, of a text such as "4(x2),3".
int tasks_on(int node, const std::string& text) {
  std::size_t at = 0;
  for (int first = 0; at < text.size();) {
    int tasks = 0, times = 1;
    const char* const end = text.data() + text.size();
    const char* p = std::from_chars(text.data() + at, end, tasks).ptr;
    if (end - p > 2 && p[0] == '(' && p[1] == 'x') {
      p = std::from_chars(p + 2, end, times).ptr;
      if (p != end && *p == ')') ++p;
    }
    if (node < first + times) return tasks;
    first += times;
    if (p != end && *p != ',') break;
    at = static_cast<std::size_t>(p - text.data()) + 1;
  }
  return 1;
}

/// The index-th port that a step of a job tries. Jobs and steps are counted, so that their sum
/// would be the same for steps that run at the same time.
std::uint16_t port_of(int job, int step, std::uint64_t index) {
  const auto name = static_cast<std::uint64_t>(job) << 32 | static_cast<std::uint64_t>(step);
  return static_cast<std::uint16_t>(kFirstPort + splitmix64(spread_bits(name), index) % kPorts);
}

std::optional<Launch> from_slurm(const Variables& v) {
  // Without a step the variables are those of a script of sbatch, or of salloc's shell.
  if (!v.has("SLURM_STEP_ID") || !v.has("SLURM_STEP_NODELIST")) return std::nullopt;
  if (v.text("SLURM_STEP_ID")->size() > kMostDigits) return std::nullopt;
  if (!v.has_both("SLURM_PROCID", "SLURM_NTASKS")) return std::nullopt;
  Launch launch{.launcher = "srun"};
  launch.size = v.number("SLURM_NTASKS", 1, kMostProcesses);
  launch.rank = v.number("SLURM_PROCID", 0, launch.size - 1);
  launch.nodes = v.number_or("SLURM_NNODES", 1, launch.size, 1);
  launch.node = v.number_or("SLURM_NODEID", 0, launch.nodes - 1, 0);
  launch.local_rank = v.number_or("SLURM_LOCALID", 0, launch.size - 1, 0);
  launch.local_size =
      std::max(tasks_on(launch.node, v.text("SLURM_STEP_TASKS_PER_NODE").value_or("1")),
               launch.local_rank + 1);
  launch.restart = v.number_or("SLURM_RESTART_COUNT", 0, kMostProcesses, 0);
  const int job = v.number_or("SLURM_JOB_ID", 0, kMostProcesses, 0);
  const int step = v.number("SLURM_STEP_ID", 0, kMostProcesses);
  launch.run = concat(job, '.', step);
  const auto nodes = expand_node_list(*v.text("SLURM_STEP_NODELIST"));
  const int port = v.number_or("MASTER_PORT", 1, 65535, port_of(job, step, 0));
  launch.store = Address{host_of(v.text("MASTER_ADDR").value_or(nodes.front())),
                         static_cast<std::uint16_t>(port)};
  for (std::uint64_t i = 1; !v.has("MASTER_PORT") && i < kTries; ++i)
    launch.other_ports.push_back(port_of(job, step, i));
  return launch;
}

/// Whether a launcher numbers its processes without regard to the one that has started it.
bool numbers_anew(const Launch& launch) {
  return launch.launcher == "torchrun" || launch.launcher == "tandem launch";
}

/// Two that start as many processes are to agree on which one this is.
void check_agreement(const Launch& inner, const Launch& outer) {
  TANDEM_CHECK(inner.size != outer.size || inner.rank == outer.rank,
               "the environment has the variables of ",
               inner.launcher,
               " and of ",
               outer.launcher,
               ", which differ: rank ",
               inner.rank,
               " and rank ",
               outer.rank,
               " of ",
               inner.size,
               "; unset those of the one that has not started this process");
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string Launch::describe() const {
  std::string text = concat("rank ", rank, " of ", size);
  if (size > 1)
    text += concat(" (local ", local_rank, " of ", local_size, ", node ", node, " of ", nodes, ')');
  text += concat(", started by ", launcher);
  if (!run.empty()) text += concat(", run ", run);
  if (restart > 0) text += concat(", restart ", restart);
  if (store)
    text += concat(
        "; store at ", to_string(*store), launcher_serves ? ", which the launcher serves" : "");
  return text;
}

std::optional<Launch> read_launch(const GetVariable& get) {
  const Variables v(get);
  std::optional<Launch> inner;
  for (const auto& read : {from_ranks, from_open_mpi, from_horovod, from_pmi, from_slurm}) {
    if (inner && numbers_anew(*inner)) break;
    std::optional<Launch> launch = read(v);
    if (!launch) continue;
    if (inner)
      check_agreement(*inner, *launch);
    else
      inner = std::move(launch);
  }
  return inner;
}

}  // namespace tandem::world
