// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The driver's functions as CUDA's run-time hands them out. PyTorch asks for a few dozen when it
// begins, and calls one of them.

#include "stand_in/cuda/driver_entry.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <dlfcn.h>

#include "stand_in/cuda/call.hpp"

extern "C" [[noreturn]] void stand_in_not_there(const char* name);

namespace {

constexpr int kMost = 256;
std::array<std::string, kMost> entry_names;

template <int I>
int entry_stub() {
  stand_in_not_there(entry_names[I].c_str());
}

template <int... I>
constexpr auto entry_table(std::integer_sequence<int, I...>) {
  return std::array<int (*)(), sizeof...(I)>{&entry_stub<I>...};
}

constexpr auto kEntryStubs = entry_table(std::make_integer_sequence<int, kMost>{});

int log_entry() {
  return 0;
}

}  // namespace

namespace tandem::stand_in {

cudaError_t driver_entry(const char* name,
                         const char* symbol,
                         void** f,
                         cudaDriverEntryPointQueryResult* result) {
  return call(name, [=](Machine& m) {
    static std::size_t count = 0;
    if (result != nullptr) *result = cudaDriverEntryPointSuccess;
    *f = dlsym(RTLD_DEFAULT, symbol);
    if (*f != nullptr) return cudaSuccess;
    if (std::strncmp(symbol, "cuLogs", 6) == 0) {  // the driver's own log
      *f = reinterpret_cast<void*>(&log_entry);
      return cudaSuccess;
    }
    if (count == entry_names.size())
      m.fatal("call",
              symbol,
              "more functions of the driver are asked for than the stand-in has places");
    entry_names[count] = symbol;
    *f = reinterpret_cast<void*>(kEntryStubs[count++]);
    return cudaSuccess;
  });
}

}  // namespace tandem::stand_in

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol,
                                                        void** f,
                                                        unsigned,
                                                        unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  return tandem::stand_in::driver_entry(__func__, symbol, f, result);
}
