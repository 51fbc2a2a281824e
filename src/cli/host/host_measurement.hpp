// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/sim/host_description.hpp"

namespace tandem::cli {

/// Measures this host by the library's own ops and collectives, and says on stderr how far it has
/// come. Takes some seconds, in which nothing else should run.
///
/// @param devices  virtual devices of the host, which are to be described. As many as the host has
///                 cores are configured while products and streams are measured.
sim::HostMeasurements measure_host(const std::vector<Device>& devices);

}  // namespace tandem::cli
