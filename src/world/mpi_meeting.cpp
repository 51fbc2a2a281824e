// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/mpi_meeting.hpp"

#include <array>
#include <exception>

#include "tandem/core/error.hpp"

#include "world/plugin.hpp"

namespace tandem::world {
namespace {

template <class F>
F mpi_function(const char* function) {
  return reinterpret_cast<F>(plugin_function("mpi", function, "libopenmpi-dev (Debian)"));
}

}  // namespace

MpiIdentity identify_by_mpi() try {
  MpiIdentity identity;
  mpi_function<void (*)(MpiIdentity&)>("tandem_mpi_identify")(identity);
  return identity;
} catch (const Error&) {
  throw;
} catch (const std::exception& e) {
  throw CommError(std::string("mpi: ") + e.what());
}

std::string tell_by_mpi(const std::string& text) try {
  std::array<char, 1024> bytes{};
  text.copy(bytes.data(), bytes.size() - 1);
  mpi_function<void (*)(char*, int)>("tandem_mpi_tell")(bytes.data(),
                                                        static_cast<int>(bytes.size()));
  return bytes.data();
} catch (const Error&) {
  throw;
} catch (const std::exception& e) {
  throw CommError(std::string("mpi: ") + e.what());
}

}  // namespace tandem::world
