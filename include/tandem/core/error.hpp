// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem {

/// Base class of every exception that tandem throws on purpose. `what()` says what was wrong and
/// what to do about it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller made a mistake: a wrong shape, dtype, device, option or file content.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A file is missing, cannot be written, or does not follow its format.
class FileError : public Error {
 public:
  /// @param offset  the byte at which the content stops making sense; -1 if there is no such byte.
  FileError(const std::string& path, std::int64_t offset, const std::string& problem);

  const std::string& path() const noexcept { return path_; }
  std::int64_t offset() const noexcept { return offset_; }

 private:
  std::string path_;
  std::int64_t offset_;
};

/// A device or its driver failed. Keeps the driver's own error code.
class DeviceError : public Error {
 public:
  DeviceError(const std::string& device,
              const std::string& call,
              int code,
              const std::string& text);

  const std::string& device() const noexcept { return device_; }
  /// The native status (cudaError_t, dnnl_status_t, ...); 0 if there is none.
  int code() const noexcept { return code_; }

 private:
  std::string device_;
  int code_;
};

/// An allocation would exceed the device's byte limit, or the system is out of memory.
class OutOfMemory : public Error {
 public:
  /// Bytes that one owner holds. `name` is a category and the module path that owns the bytes, such
  /// as "parameter of net.conv1".
  struct Owner {
    std::string name;
    std::size_t nbytes;
  };
  /// @param asked, in_use, limit  bytes; `limit` is SIZE_MAX if the device has none.
  OutOfMemory(std::string device,
              std::size_t asked,
              std::size_t in_use,
              std::size_t limit,
              std::vector<Owner> owners);

  const std::string& device() const noexcept { return device_; }
  std::size_t asked() const noexcept { return asked_; }
  std::size_t in_use() const noexcept { return in_use_; }
  std::size_t limit() const noexcept { return limit_; }
  /// Largest first.
  const std::vector<Owner>& owners() const noexcept { return owners_; }

 private:
  std::string device_;
  std::size_t asked_;
  std::size_t in_use_;
  std::size_t limit_;
  std::vector<Owner> owners_;
};

/// The host read data that a shape-only execution never computed.
class NoData : public Error {
 public:
  using Error::Error;
};

/// A collective failed.
class CommError : public Error {
 public:
  using Error::Error;
};

/// Another rank failed while this one waited.
class CommAborted : public CommError {
 public:
  using CommError::CommError;
};

/// A wait passed its deadline.
class Timeout : public CommError {
 public:
  using CommError::CommError;
};

/// Ranks called different collectives, or the same collective with different arguments.
class Desync : public CommError {
 public:
  using CommError::CommError;
};

/// A bug in tandem itself; please report it.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// One line for any exception: its `what()`, or "unknown exception" for types outside
/// std::exception.
std::string describe(const std::exception_ptr& error);

/// The first `E` among `error` and the exceptions nested in it; nullptr if there is none.
///
/// The result lives as long as `error`.
template <class E>
const E* find_cause(const std::exception& error) {
  if (const auto* hit = dynamic_cast<const E*>(&error)) return hit;
  const auto* nest = dynamic_cast<const std::nested_exception*>(&error);
  if (nest == nullptr || nest->nested_ptr() == nullptr) return nullptr;
  try {
    nest->rethrow_nested();
  } catch (const std::exception& inner) {
    return find_cause<E>(inner);  // nest keeps the exception object alive
  } catch (...) {
  }
  return nullptr;
}

}  // namespace tandem
