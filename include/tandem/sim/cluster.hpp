// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/memory.hpp"

namespace tandem::sim {

/// Dense peaks of a GPU, in FLOP/s. A peak that is missing is one that the hardware does not have:
/// arithmetic in bf16 and f16 then runs at the peak of f32, as libraries do it on such GPUs,
/// and that in f64 cannot be simulated.
struct Peaks {
  double f32 = 0;                   ///< on the units that are not tensor cores
  std::optional<double> tf32 = {};  ///< products of f32 that are rounded to 10 bits
  std::optional<double> bf16 = {}, f16 = {}, f64 = {};

  /// The peak for arithmetic on elements of type `dtype`; 0 if the hardware has none.
  double of(DType dtype) const noexcept;
};

/// The parts of a peak that work reaches, from 0 to 1.
struct Efficiency {
  double copy = 0;                ///< of an NVLink's bandwidth, by a copy between two GPUs
  double memory = 0;              ///< of the memory's bandwidth, by a kernel that streams
  double matmul = 0;              ///< of the dtype's peak, by a large product
  double beside_collectives = 0;  ///< of its own speed, by a kernel while a collective runs
};

/// What starting one kernel costs, in seconds.
struct LaunchCost {
  double gpu = 0;   ///< from the end of a kernel to the start of the next one; host: for sharing a
                    ///< kernel among cores
  double host = 0;  ///< of the host's thread, for each op
  /// The same in backward, if it is another: a tape's thread may be quicker than a script's
  /// forward.
  std::optional<double> host_backward = {};

  /// What launching a kernel costs the thread in this phase.
  double on_host(Phase phase) const noexcept {
    return phase == Phase::backward ? host_backward.value_or(host) : host;
  }
};

/// The sizes of a product, each of which halves its speed where the others are large.
struct HalfSizes {
  double m = 0, n = 0, k = 0;
};

/// A core's part of the last cache.
struct Cache {
  double size = 0;       ///< bytes
  double bandwidth = 0;  ///< bytes/s, reads and writes together, of work on no more than `size`
};

/// What carries out the work of a Gpus.
enum class GpuKind : std::uint8_t {
  gpu,   ///< streams of its own, on which threads queue work
  host,  ///< the threads themselves: virtual devices of a host, which share its cores evenly
};

/// The GPUs of a node, which are all alike.
///
/// Those of kind host are virtual devices. Their peaks and their bandwidth are of one core while
/// all cores work.
struct Gpus {
  std::string name;
  GpuKind kind = GpuKind::gpu;
  int count = 0;                ///< in one node
  int multiprocessors = 0;      ///< a product's tiles run in waves of so many; host: all its cores
  double memory = 0;            ///< bytes
  double reserved_memory = 0;   ///< bytes of it that the driver's context and libraries hold
  double memory_bandwidth = 0;  ///< bytes/s, reads and writes together
  Peaks peak;
  Efficiency efficiency;
  LaunchCost launch;
  /// The standard deviation of the time that GPUs of this kind take for the same work, as a part of
  /// the mean. Where several work together, all wait for the slowest.
  double variation = 0;
  std::optional<HalfSizes> products = {};  ///< only, and always, of kind host
  std::optional<Cache> cache = {};         ///< only of kind host
  /// Only of kind host: how fast an op is, by its name, beside what its arithmetic and its bytes
  /// say; 1 for others.
  std::map<std::string, double, std::less<>> ops = {};
};

/// Whether both directions of a link carry their bandwidth at once.
enum class Duplex : std::uint8_t { full, half };

/// How the NVLinks of a node are wired.
enum class NvLinkTopology : std::uint8_t {
  all_to_all,  ///< by NVSwitch: each GPU reaches each other one with all its links
  pairs,       ///< each link joins two GPUs
};

/// The NVLinks between two GPUs of a node.
struct NvLinkPair {
  int first = 0, second = 0;
  int links = 0;
};

struct NvLinks {
  NvLinkTopology topology = NvLinkTopology::all_to_all;
  int links_per_gpu = 0;
  double bandwidth = 0;  ///< bytes/s of one link in one direction
  double latency = 0;    ///< seconds
  Duplex duplex = Duplex::full;
  std::vector<NvLinkPair> pairs = {};  ///< only for NvLinkTopology::pairs
};

/// GPUs that share one link to a socket's host bridge.
struct PcieSwitch {
  std::vector<int> gpus = {};
  int socket = 0;
};

struct Pcie {
  double bandwidth = 0;  ///< usable bytes/s of a GPU's link in one direction
  Duplex duplex = Duplex::full;
  bool peer_access = false;                     ///< whether GPUs reach each other's memory
  std::optional<double> peer_latency = {};      ///< seconds; only with peer_access
  bool peer_across_sockets = false;             ///< whether they do between sockets too
  std::vector<PcieSwitch> switches = {};        ///< empty: each GPU has a link to the host bridge
  std::optional<double> uplink_bandwidth = {};  ///< bytes/s of a switch's link; only with switches
  std::optional<double> socket_bandwidth = {};  ///< bytes/s between sockets in one direction
};

/// The way between two GPUs through the host's memory, which is left where there is no other.
struct HostPath {
  double bandwidth = 0;        ///< bytes/s that one GPU sends so, while it receives as much; at
                               ///< most that of its PCIe link
  double total_bandwidth = 0;  ///< bytes/s that all GPUs of a node send so together
  double latency = 0;          ///< seconds
};

/// The network cards of a node.
struct Nics {
  int count = 0;
  double bandwidth = 0;  ///< bytes/s of one card in one direction
  double latency = 0;    ///< seconds
};

/// Constants of a ring; docs/cluster.md has the formula.
struct RingConstants {
  double alpha0 = 0;      ///< seconds of any call
  double alpha1 = 0;      ///< seconds for each GPU after the first
  double efficiency = 0;  ///< the part of the links' bandwidth that is reached, from 0 to 1
  double kappa = 0;       ///< more parts of a message that each GPU moves, of which a ring has n
  double gamma = 0;       ///< seconds for the square root of a byte: filling the pipeline
};

/// Constants of an all-reduce inside the switch (NVLink SHARP).
struct NvlsConstants {
  double alpha = 0;      ///< seconds
  double bandwidth = 0;  ///< bytes/s of a GPU in one direction; at most that of its links
  double gamma = 0;      ///< as a ring's
  int least_gpus = 0;    ///< the library takes a ring for fewer
};

/// Constants of collectives between nodes.
struct NetworkConstants {
  double alpha = 0;            ///< seconds for each node of a ring, or each level of a tree
  double efficiency = 0;       ///< of the network cards' bandwidth
  double tree_efficiency = 0;  ///< of that, by a tree
};

struct CollectiveConstants {
  RingConstants ring;
  std::optional<NvlsConstants> nvls = {};
  std::optional<NetworkConstants> network = {};
};

/// The steps that were compared with measured ones, by the program's names of them.
struct ComparedSteps {
  std::vector<std::string> models = {}, dtypes = {}, modes = {};
};

/// A machine, or several alike, as far as the time of a training step depends on it.
///
/// Sizes are in bytes, times in seconds, rates in bytes/s or FLOP/s. docs/cluster.md says what each
/// field means and what is not described.
struct Cluster {
  std::string name;
  std::string about;
  /// How far simulated times are known to be from measured ones, in words; empty: not known.
  std::string known_error = {};
  std::optional<ComparedSteps> compared = {};  ///< of which known_error speaks; none: of all
  int nodes = 1;
  Gpus gpus;
  std::optional<NvLinks> nvlink = {};
  Pcie pcie;
  HostPath host;
  std::optional<Nics> nics = {};
  CollectiveConstants collectives;
  /// Where figures come from, by the path of a field ("gpus.memory") or of an object around it.
  std::map<std::string, std::string> sources = {};

  /// The number of GPUs in all nodes.
  int gpu_count() const noexcept { return nodes * gpus.count; }
};

/// Refuses a machine that cannot be.
///
/// @throws InvalidArgument  with the path of a field that is negative, not finite, out of its range
///                          or contrary to another one: "gpus.memory_bandwidth: -5 GB/s; it must be
///                          positive". docs/cluster.md has the ranges.
void check(const Cluster& cluster);

/// Reads a description in JSON, and checks it.
///
/// @throws InvalidArgument  as `check`, and for text that is not JSON, and fields that are missing,
///                          unknown, given twice, or in the wrong unit.
Cluster parse_cluster(std::string_view json);

/// The description in JSON. `parse_cluster` makes an equal cluster of it, up to the rounding of
/// quantities in decimal.
std::string to_json(const Cluster& cluster);

/// Reads a description from a file. @throws FileError  as `parse_cluster`, or the file cannot be
/// read.
Cluster read_cluster(const std::string& path);

/// The paths of figures for which `sources` names none, neither for the field nor for an object
/// around it.
std::vector<std::string> figures_without_source(const Cluster& cluster);

}  // namespace tandem::sim
