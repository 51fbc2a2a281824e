// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/cluster.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/sim/presets.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::thrown_text;

/// Two GPUs by NVLink in each of two nodes, with all that a description can have.
constexpr const char* kGood = R"json({
  "name": "small", "about": "for tests", "nodes": 2,
  "gpus": {"name": "G", "count": 2, "multiprocessors": 10, "memory": "8 GiB", "reserved_memory": "500 MiB",
    "memory_bandwidth": "300 GB/s",
    "peak": {"f32": "8 TFLOP/s", "tf32": null, "bf16": "60 TFLOP/s", "f16": "65 TFLOP/s"},
    "efficiency": {"copy": 0.9, "memory": 0.85, "matmul": 0.75, "beside_collectives": 0.85},
    "launch": {"gpu": "2.5 us", "host": "0.006 ms"}},
  "nvlink": {"topology": "pairs", "links_per_gpu": 4, "bandwidth": "14.0625 GB/s", "latency": "2700 ns",
    "duplex": "half", "pairs": [{"gpus": [0, 1], "links": 3}]},
  "pcie": {"bandwidth": "12 GB/s", "duplex": "full", "peer_access": true, "peer_latency": "5 us",
    "switches": [{"gpus": [0], "socket": 0}, {"gpus": [1], "socket": 1}],
    "uplink_bandwidth": "11 GB/s", "socket_bandwidth": "10 GB/s"},
  "host": {"bandwidth": "3 GB/s", "total_bandwidth": "6 GB/s", "latency": "15 us"},
  "nics": {"count": 1, "bandwidth": "12.5 GB/s", "latency": "5 us"},
  "collectives": {
    "ring": {"alpha0": "20 us", "alpha1": "4 us", "efficiency": 0.8, "kappa": 0.5, "gamma": "0.32 us/sqrt(KiB)"},
    "network": {"alpha": "28 us", "efficiency": 0.9, "tree_efficiency": 0.92}},
  "sources": {"gpus.peak": "data sheet", "nvlink": "measured"}
})json";

/// The good description with one text in place of another.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  if (at == std::string::npos) ADD_FAILURE() << "there is no " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string field(const std::string& name, const std::string& value) {
  return '"' + name + R"(": ")" + value + '"';
}

TEST(ClusterTest, ReadsEachFieldInItsUnit) {
  const Cluster c = parse_cluster(kGood);
  EXPECT_EQ(c.name, "small");
  EXPECT_EQ(c.about, "for tests");
  EXPECT_EQ(c.gpu_count(), 4);
  EXPECT_EQ(c.gpus.memory, 8.0 * (1 << 30));
  EXPECT_EQ(c.gpus.reserved_memory, 500.0 * (1 << 20));
  EXPECT_EQ(c.gpus.memory_bandwidth, 300e9);
  EXPECT_EQ(c.gpus.peak.f32, 8e12);
  EXPECT_FALSE(c.gpus.peak.tf32);
  EXPECT_FALSE(c.gpus.peak.f64);
  EXPECT_DOUBLE_EQ(c.gpus.launch.host, 6e-6);
  ASSERT_TRUE(c.nvlink);
  EXPECT_EQ(c.nvlink->duplex, Duplex::half);
  EXPECT_EQ(c.nvlink->bandwidth, 14.0625e9);
  EXPECT_DOUBLE_EQ(c.nvlink->latency, 2.7e-6);
  EXPECT_EQ(c.nvlink->pairs.at(0).links, 3);
  EXPECT_EQ(c.pcie.switches.at(1).socket, 1);
  EXPECT_EQ(c.pcie.uplink_bandwidth, 11e9);
  EXPECT_DOUBLE_EQ(c.collectives.ring.gamma, 1e-8);  // 0.32 us / 32, the square root of 1024
  EXPECT_EQ(c.collectives.network->tree_efficiency, 0.92);
  EXPECT_FALSE(c.collectives.nvls);
}

TEST(ClusterTest, PeaksAreThoseOfTheTypesOfElements) {
  const Peaks peak = parse_cluster(kGood).gpus.peak;
  EXPECT_EQ(peak.of(DType::f32), 8e12);
  EXPECT_EQ(peak.of(DType::bf16), 60e12);
  EXPECT_EQ(peak.of(DType::f16), 65e12);
  EXPECT_EQ(peak.of(DType::f64), 0);
  EXPECT_EQ(peak.of(DType::i32), 0);
}

TEST(ClusterTest, WhatIsWrittenIsReadAgain) {
  const Cluster c = parse_cluster(kGood);
  const std::string text = to_json(c);
  EXPECT_EQ(to_json(parse_cluster(text)), text);
  for (const char* part : {R"("memory": "8 GiB")",
                           R"("bandwidth": "14.0625 GB/s")",
                           R"("host": "6 us")",
                           R"("f64": null)",
                           R"json("gamma": "0.32 us/sqrt(KiB)")json",
                           R"("duplex": "half")",
                           R"("gpus.peak": "data sheet")"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ClusterTest, NamesFiguresWithoutSource) {
  Cluster c = parse_cluster(kGood);
  for (const char* path : {"gpus", "pcie", "host", "collectives"})
    c.sources[path] = "here";
  EXPECT_THAT(figures_without_source(c),
              ElementsAre("nics.count", "nics.bandwidth", "nics.latency"));
  c.sources["nics"] = "there";
  EXPECT_THAT(figures_without_source(c), IsEmpty());
}

struct Broken {
  const char* from;
  const char* to;
  const char* says;  ///< the whole text
};

// clang-format off
const Broken kBroken[] = {
    // Values
    {R"("memory_bandwidth": "300 GB/s")", R"("memory_bandwidth": "-5 GB/s")", "gpus.memory_bandwidth: -5 GB/s; it must be positive"},
    {R"("memory": "8 GiB")", R"("memory": "0 GiB")", "gpus.memory: 0 B; it must be positive"},
    {R"("memory": "8 GiB")", R"("memory": "8 GB/s")", R"(gpus.memory: "8 GB/s"; it must be a number with a unit, like "5 GiB")"},
    {R"("memory": "8 GiB")", R"("memory": 8)", R"(gpus.memory: 8; it must be a number with a unit, like "5 GiB")"},
    {R"("memory": "8 GiB")", R"("memory": "nan GiB")", R"(gpus.memory: "nan GiB"; it must be a number with a unit, like "5 GiB")"},
    {R"("memory": "8 GiB")", R"("memory": "1e999 GiB")", R"(gpus.memory: "1e999 GiB"; it must be a number with a unit, like "5 GiB")"},
    {R"("reserved_memory": "500 MiB")", R"("reserved_memory": "9 GiB")", "gpus.reserved_memory: 9 GiB; it must be less than gpus.memory, 8 GiB"},
    {R"("count": 2)", R"("count": 0)", "gpus.count: 0; it must be from 1 to 65536"},
    {R"("count": 2)", R"("count": 2.5)", "gpus.count: 2.5; it must be a whole number"},
    {R"("count": 2)", R"("count": 99999999999)", "gpus.count: 99999999999; it must be a whole number"},
    {R"("multiprocessors": 10)", R"("multiprocessors": -1)", "gpus.multiprocessors: -1; it must be from 1 to 65536"},
    {R"("bf16": "60 TFLOP/s")", R"("bf16": "0 TFLOP/s")", "gpus.peak.bf16: 0 TFLOP/s; it must be positive"},
    {R"("copy": 0.9)", R"("copy": 1.1)", "gpus.efficiency.copy: 1.1; it must be from 0.000001 to 1"},
    {R"("copy": 0.9)", R"("copy": 1.0000001)", "gpus.efficiency.copy: 1.0000001; it must be from 0.000001 to 1"},
    {R"("kappa": 0.5)", R"("kappa": 2.0000001)", "collectives.ring.kappa: 2.0000001; it must be from 0 to 2"},
    {R"("matmul": 0.75)", R"("matmul": 0)", "gpus.efficiency.matmul: 0; it must be from 0.000001 to 1"},
    {R"("launch": {)", R"("variation": 2, "launch": {)", "gpus.variation: 2; it must be from 0 to 1"},
    {R"("gpu": "2.5 us")", R"("gpu": "-1 us")", "gpus.launch.gpu: -1 us; it must not be negative"},
    {R"("duplex": "half")", R"("duplex": "both")", R"(nvlink.duplex: "both"; it must be "full" or "half")"},
    {R"("nodes": 2)", R"("nodes": 0)", "nodes: 0; it must be from 1 to 32768"},
    {R"("total_bandwidth": "6 GB/s")", R"("total_bandwidth": "2 GB/s")", "host.total_bandwidth: 2 GB/s; it must be at least that of one GPU, host.bandwidth, 3 GB/s"},
    {R"("kappa": 0.5)", R"("kappa": 3)", "collectives.ring.kappa: 3; it must be from 0 to 2"},
    // These have the right sign, but no machine has them: times that are made of them would overflow
    {R"("memory_bandwidth": "300 GB/s")", R"("memory_bandwidth": "1 B/s")", "gpus.memory_bandwidth: 1 B/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("memory_bandwidth": "300 GB/s")", R"("memory_bandwidth": "1.1 EB/s")", "gpus.memory_bandwidth: 1100000000 GB/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("bandwidth": "14.0625 GB/s")", R"("bandwidth": "1e-300 GB/s")", "nvlink.bandwidth: 1e-291 B/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("bandwidth": "12 GB/s")", R"("bandwidth": "999 kB/s")", "pcie.bandwidth: 999 kB/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("uplink_bandwidth": "11 GB/s")", R"("uplink_bandwidth": "1 B/s")", "pcie.uplink_bandwidth: 1 B/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("socket_bandwidth": "10 GB/s")", R"("socket_bandwidth": "1 B/s")", "pcie.socket_bandwidth: 1 B/s; it must be from 1 MB/s to 1 EB/s"},
    {R"({"bandwidth": "3 GB/s")", R"({"bandwidth": "1 B/s")", "host.bandwidth: 1 B/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("total_bandwidth": "6 GB/s")", R"("total_bandwidth": "1e30 GB/s")", "host.total_bandwidth: 1e+30 GB/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("bandwidth": "12.5 GB/s")", R"("bandwidth": "1 B/s")", "nics.bandwidth: 1 B/s; it must be from 1 MB/s to 1 EB/s"},
    {R"("f32": "8 TFLOP/s")", R"("f32": "1 FLOP/s")", "gpus.peak.f32: 1 FLOP/s; it must be from 1 MFLOP/s to 1 ZFLOP/s"},
    {R"("f16": "65 TFLOP/s")", R"("f16": "2 ZFLOP/s")", "gpus.peak.f16: 2000000000 TFLOP/s; it must be from 1 MFLOP/s to 1 ZFLOP/s"},
    {R"("memory": "8 GiB")", R"("memory": "2 EiB")", "gpus.memory: 2 EiB; it must be from 1 B to 1 EiB"},
    {R"("memory": "8 GiB")", R"("memory": "0.5 B")", "gpus.memory: 0.5 B; it must be from 1 B to 1 EiB"},
    {R"("gpu": "2.5 us")", R"("gpu": "1e300 us")", "gpus.launch.gpu: 1e+300 us; it must be at most 1 s"},
    {R"("host": "0.006 ms")", R"("host": "1.1 s")", "gpus.launch.host: 1100000 us; it must be at most 1 s"},
    {R"("host": "0.006 ms")", R"("host": "6 us", "host_backward": "2 s")", "gpus.launch.host_backward: 2000000 us; it must be at most 1 s"},
    {R"("latency": "15 us")", R"("latency": "1e300 us")", "host.latency: 1e+300 us; it must be at most 1 s"},
    {R"("latency": "2700 ns")", R"("latency": "2 s")", "nvlink.latency: 2000000 us; it must be at most 1 s"},
    {R"("peer_latency": "5 us")", R"("peer_latency": "2 s")", "pcie.peer_latency: 2000000 us; it must be at most 1 s"},
    {R"("bandwidth": "12.5 GB/s", "latency": "5 us")", R"("bandwidth": "12.5 GB/s", "latency": "2 s")", "nics.latency: 2000000 us; it must be at most 1 s"},
    {R"("alpha0": "20 us")", R"("alpha0": "1e300 us")", "collectives.ring.alpha0: 1e+300 us; it must be at most 1 s"},
    {R"("alpha1": "4 us")", R"("alpha1": "2 s")", "collectives.ring.alpha1: 2000000 us; it must be at most 1 s"},
    {R"("alpha": "28 us")", R"("alpha": "2 s")", "collectives.network.alpha: 2000000 us; it must be at most 1 s"},
    {R"json("0.32 us/sqrt(KiB)")json", R"json("1e300 us/sqrt(KiB)")json", "collectives.ring.gamma: 1e+300 us/sqrt(KiB); it must be at most 1000 us/sqrt(KiB)"},
    {R"("efficiency": 0.8,)", R"("efficiency": 1e-300,)", "collectives.ring.efficiency: 1e-300; it must be from 0.000001 to 1"},
    {R"("name": "G",)", R"("name": "G", "kind": "host", "products": {"m": 1e300, "n": 1, "k": 1},)", "gpus.products.m: 1e+300; it must be from 0 to 1e+09"},
    {R"("name": "G",)", R"("name": "G", "kind": "host", "products": {"m": 1, "n": 1, "k": 1}, "ops": {"relu": 1e-300},)", "gpus.ops.relu: 1e-300; it must be from 1e-06 to 1e+06"},
    // Words
    {R"("name": "small")", R"("name": "")", "name: is empty; give the machine a name"},
    {R"("name": "small")", R"("name": "a\nb")", R"(name: "a\nb"; it must have no control characters, such as ends of lines)"},
    {R"("about": "for tests")", R"("about": "\u001b[31mred")", R"(about: "\u001b[31mred"; it must have no control characters, such as ends of lines)"},
    {R"("about": "for tests")", R"("about": "\u009b31mred")", R"(about: "\u009b31mred"; it must have no control characters, such as ends of lines)"},
    {R"("about": "for tests")", R"("known_error": "\u0000")", R"(known_error: "\u0000"; it must have no control characters, such as ends of lines)"},
    {R"("name": "G")", R"("name": "G\u007f")", R"(gpus.name: "G\u007f"; it must have no control characters, such as ends of lines)"},
    // Missing and unknown
    {R"("memory": "8 GiB",)", "", "gpus.memory: is missing; the description must have it"},
    {R"("name": "small",)", "", "name: is missing; the description must have it"},
    {R"("peer_access": true,)", "", "pcie.peer_access: is missing; the description must have it"},
    {R"("f32": "8 TFLOP/s")", R"("f32": null)", "gpus.peak.f32: is missing; the description must have it"},
    {R"("latency": "15 us")", R"("latenzy": "15 us")", "host.latency: is missing; the description must have it"},
    {R"("host": "0.006 ms")", R"("host": "6 us", "cpu": "1 us")", "gpus.launch.cpu: is unknown; the fields here are gpu, host, host_backward"},
    {R"("host": "0.006 ms")", R"("host": "6 us", "host_backward": "-1 us")", "gpus.launch.host_backward: -1 us; it must not be negative"},
    {R"("nodes": 2)", R"("nodes": 2, "disk": {})", "disk: is unknown; the fields here are about, collectives, compared, gpus, host, known_error, name, nics, nodes, nvlink, pcie, schema_version, sources"},
    {R"("nodes": 2)", R"("nodes": 2, "nodes": 3)", "nodes: is given twice in one object; leave one out"},
    {R"("gpus.peak": "data sheet")", R"("gpus.pique": "data sheet")", "sources.gpus.pique: the description has no field of this path"},
    {R"("host": {"bandwidth": "3 GB/s", "total_bandwidth": "6 GB/s", "latency": "15 us"})", R"("host": [1])", "host: [1]; it must be an object"},
    {R"("name": "G",)", R"("name": "G", "kind": "cpu",)", R"(gpus.kind: "cpu"; it must be "gpu" or "host")"},
    {R"("name": "G",)", R"("name": "G", "kind": "host", "products": {"m": 1, "n": 1, "k": 1}, "cache": {"size": "0 B", "bandwidth": "1 GB/s"},)", "gpus.cache.size: 0 B; it must be positive"},
    {R"("name": "G",)", R"("name": "G", "kind": "host", "products": {"m": -1, "n": 1, "k": 1},)", "gpus.products.m: -1; it must be from 0 to 1e+09"},
    {R"("name": "G",)", R"("name": "G", "kind": "host", "products": {"m": 1, "n": 1, "k": 1}, "ops": {"relu": 0},)", "gpus.ops.relu: 0; it must be from 1e-06 to 1e+06"},
    // Contradictions
    {R"("name": "G",)", R"("name": "G", "kind": "host",)", "gpus.products: is missing; gpus.kind is host, whose products depend on it"},
    {R"("name": "G",)", R"("name": "G", "products": {"m": 1, "n": 1, "k": 1},)", "gpus.products: is of gpus.kind host alone; leave one of them out"},
    {R"("name": "G",)", R"("name": "G", "cache": {"size": "1 MiB", "bandwidth": "1 GB/s"},)", "gpus.cache: is of gpus.kind host alone; leave one of them out"},
    {R"("name": "G",)", R"("name": "G", "ops": {"relu": 1},)", "gpus.ops: is of gpus.kind host alone; leave one of them out"},
    {R"("gpus": [0, 1], "links": 3)", R"("gpus": [0, 2], "links": 3)", "nvlink.pairs[0].gpus: GPU 2 does not exist; gpus.count is 2"},
    {R"("gpus": [0, 1], "links": 3)", R"("gpus": [1, 1], "links": 1)", "nvlink.pairs[0].gpus: joins GPU 1 with itself"},
    {R"("gpus": [0, 1], "links": 3)", R"("gpus": [0, 1, 1], "links": 1)", "nvlink.pairs[0].gpus: has 3 GPUs; a pair has 2"},
    {R"("gpus": [0, 1], "links": 3)", R"("gpus": [0, 1], "links": 5)", "nvlink.pairs[0].links: gives GPU 0 5 links; nvlink.links_per_gpu is 4"},
    {R"("links": 3})", R"("links": 2}, {"gpus": [1, 0], "links": 1})", "nvlink.pairs[1].gpus: GPUs 1 and 0 are a pair already; add up the links"},
    {R"("pairs": [{"gpus": [0, 1], "links": 3}])", R"("pairs": [])", "nvlink.pairs: is empty; name the pairs, or set nvlink to null"},
    {R"("topology": "pairs")", R"("topology": "all_to_all")", "nvlink.pairs: contradicts nvlink.topology all_to_all, where every GPU reaches every other one; leave one of them out"},
    {R"("peer_access": true)", R"("peer_access": false)", "pcie.peer_latency: contradicts pcie.peer_access false, without which there is no path to a peer; leave it out"},
    {R"("peer_access": true, "peer_latency": "5 us")", R"("peer_access": false, "peer_across_sockets": true)", "pcie.peer_across_sockets: true contradicts pcie.peer_access false; set it to false"},
    {R"("peer_latency": "5 us",)", "", "pcie.peer_latency: is missing; pcie.peer_access is true"},
    {R"({"gpus": [1], "socket": 1})", R"({"gpus": [5], "socket": 1})", "pcie.switches[1].gpus: GPU 5 does not exist; gpus.count is 2"},
    {R"({"gpus": [1], "socket": 1})", R"({"gpus": [0, 1], "socket": 1})", "pcie.switches[1].gpus: GPU 0 is behind pcie.switches[0] already"},
    {R"(, {"gpus": [1], "socket": 1})", "", "pcie.switches: GPU 1 is behind none of them"},
    {R"("uplink_bandwidth": "11 GB/s",)", "", "pcie.uplink_bandwidth: is missing; pcie.switches has some"},
    {R"("switches": [{"gpus": [0], "socket": 0}, {"gpus": [1], "socket": 1}],)", "", "pcie.uplink_bandwidth: is that of switches, but pcie.switches has none"},
    {R"(, "socket_bandwidth": "10 GB/s")", "", "pcie.socket_bandwidth: is missing; pcie.switches are on several sockets"},
    {R"("gpus": [1], "socket": 1)", R"("gpus": [1], "socket": 0)", "pcie.socket_bandwidth: is that between sockets, but all pcie.switches are on one"},
    {R"("nics": {"count": 1, "bandwidth": "12.5 GB/s", "latency": "5 us"},)", "", "nics: is missing; nodes is 2"},
    {R"(,
    "network": {"alpha": "28 us", "efficiency": 0.9, "tree_efficiency": 0.92})", "", "collectives.network: is missing; there are nics"},
    {R"("network":)", R"json("nvls": {"alpha": "1 us", "bandwidth": "1 GB/s", "gamma": "0 us/sqrt(KiB)", "least_gpus": 2}, "network":)json", "collectives.nvls: needs an NVSwitch, but nvlink.topology is not all_to_all; leave it out"},
    {R"({"bandwidth": "3 GB/s", "total_bandwidth": "6 GB/s")", R"({"bandwidth": "13 GB/s", "total_bandwidth": "13 GB/s")", "host.bandwidth: 13 GB/s; it must be at most pcie.bandwidth, over which a GPU reaches the host's memory, 12 GB/s"},
};
// clang-format on

TEST(ClusterTest, RefusesWhatCannotBeByTheFieldsPath) {
  for (const Broken& b : kBroken) {
    const std::string text = changed(b.from, b.to);
    EXPECT_EQ(thrown_text([&] { parse_cluster(text); }), b.says);
  }
}

TEST(ClusterTest, NvlsIsWithinTheLinksAndTheGpusOfANode) {
  Cluster c = preset("h100x8");
  c.collectives.nvls->bandwidth = 450e9;  // 18 links of 25 GB/s
  c.collectives.nvls->least_gpus = 8;
  EXPECT_NO_THROW(check(c));
  c.collectives.nvls->least_gpus = 9;
  EXPECT_EQ(thrown_text([&] { check(c); }),
            "collectives.nvls.least_gpus: 9; it must be from 2 to gpus.count, 8");
  c.collectives.nvls->bandwidth = 451e9;
  EXPECT_EQ(thrown_text([&] { check(c); }),
            "collectives.nvls.bandwidth: 451 GB/s; it must be at most nvlink.links_per_gpu times "
            "nvlink.bandwidth, 450 GB/s");
}

TEST(ClusterTest, TheEndsOfARangeArePossible) {
  for (const char* rate : {"1 MB/s", "1 EB/s"})
    EXPECT_NO_THROW(parse_cluster(
        changed(R"("memory_bandwidth": "300 GB/s")", field("memory_bandwidth", rate))))
        << rate;
  for (const char* rate : {"1 MFLOP/s", "1 ZFLOP/s"})
    EXPECT_NO_THROW(parse_cluster(changed(R"("f32": "8 TFLOP/s")", field("f32", rate)))) << rate;
  EXPECT_NO_THROW(parse_cluster(changed(R"("memory": "8 GiB")", field("memory", "1 EiB"))));
  EXPECT_NO_THROW(parse_cluster(changed(R"("gpu": "2.5 us")", field("gpu", "1 s"))));
}

TEST(ClusterTest, RefusesTextThatIsNotADescription) {
  EXPECT_THAT(thrown_text([] { parse_cluster(""); }), HasSubstr("the description is not JSON"));
  EXPECT_THAT(thrown_text([] { parse_cluster("{\"name\": "); }), HasSubstr("is not JSON"));
  EXPECT_EQ(thrown_text([] { parse_cluster("[]"); }), "the description: []; it must be an object");
  const std::string deep(100, '[');
  EXPECT_THAT(thrown_text([&] { parse_cluster(deep); }), HasSubstr("too deep"));
}

TEST(ClusterTest, AFilesErrorsNameTheFile) {
  EXPECT_THAT(thrown_text<FileError>([] { read_cluster("no-such.json"); }),
              HasSubstr("no-such.json"));
  const std::string path = ::testing::TempDir() + "broken_cluster.json";
  std::ofstream(path) << changed(R"("count": 2)", R"("count": 0)");
  EXPECT_THAT(thrown_text<FileError>([&] { read_cluster(path); }),
              ::testing::AllOf(HasSubstr("broken_cluster.json"), HasSubstr("gpus.count: 0")));
  std::ofstream(path) << kGood;
  EXPECT_EQ(read_cluster(path).gpus.count, 2);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tandem::sim
