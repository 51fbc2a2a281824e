// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/error.hpp"

#include <sstream>
#include <utility>

namespace tandem {
namespace {

std::string out_of_memory_text(const std::string& device,
                               std::size_t asked,
                               std::size_t in_use,
                               std::size_t limit,
                               const std::vector<OutOfMemory::Owner>& owners) {
  std::ostringstream s;
  s << "out of memory on " << device << ": asked for " << asked << " bytes with " << in_use
    << " in use";
  if (limit != SIZE_MAX) s << " and a limit of " << limit;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    s << (i == 0 ? "; largest owners: " : ", ") << owners[i].name << ' ' << owners[i].nbytes;
  }
  s << "; use a smaller batch or chunk on " << device << ", or raise its limit";
  return s.str();
}

}  // namespace

FileError::FileError(const std::string& path, std::int64_t offset, const std::string& problem)
    : Error(path + (offset < 0 ? "" : " at byte " + std::to_string(offset)) + ": " + problem),
      path_(path),
      offset_(offset) {}

DeviceError::DeviceError(const std::string& device,
                         const std::string& call,
                         int code,
                         const std::string& text)
    : Error(device + ": " + call + " failed with code " + std::to_string(code) + " (" + text + ")"),
      device_(device),
      code_(code) {}

OutOfMemory::OutOfMemory(std::string device,
                         std::size_t asked,
                         std::size_t in_use,
                         std::size_t limit,
                         std::vector<Owner> owners)
    : Error(out_of_memory_text(device, asked, in_use, limit, owners)),
      device_(std::move(device)),
      asked_(asked),
      in_use_(in_use),
      limit_(limit),
      owners_(std::move(owners)) {}

std::string describe(const std::exception_ptr& error) {
  if (error == nullptr) return "no error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace tandem
