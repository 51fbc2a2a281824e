// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tandem/io/file.hpp"
#include "tandem/io/safetensors.hpp"

#include "io/content_sum.hpp"
#include "io/safetensors_header.hpp"

namespace tandem::detail {

/// How a safetensors file begins, and which tensors follow.
struct SafetensorsPlan {
  /// A checksum among the metadata, which is of another file, is left out.
  ///
  /// @param in_order  offsets not yet set. @throws InvalidArgument  as write_safetensors.
  SafetensorsPlan(std::vector<HeaderTensor> in_order,
                  const SafetensorsMetadata& metadata,
                  Checksum checksum);

  Checksum checksum;
  std::string header;
  std::vector<HeaderTensor> tensors;
};

/// Writes a safetensors file, a tensor at a time.
class SafetensorsStream {
 public:
  /// Writes the header. @param file, plan  live as long. @throws FileError
  SafetensorsStream(FileWriter& file, const SafetensorsPlan& plan);
  /// Writes the next tensor. @throws InvalidArgument  of another size. @throws FileError
  void add(std::span<const std::byte> content);
  /// After the last tensor: puts the checksum's digits in their place.
  ///
  /// @return  them; "" where there is no checksum. @throws FileError
  std::string end();

 private:
  void write(std::span<const std::byte> bytes);

  FileWriter& file_;
  const SafetensorsPlan& plan_;
  ContentSum sum_;
  std::size_t next_ = 0;
};

/// Indices of `types`, wide ones first, so that each tensor of a file is aligned to its type.
/// Otherwise they stay in their order.
std::vector<std::size_t> aligned_order(std::span<const StoredType> types);

/// Writes `tensors` (in any order, offsets not yet set) to `path`, as write_safetensors says. A
/// checksum among the metadata, which is of another file, is left out.
///
/// @param bytes  gives the content of the tensor at an index of `tensors`; it is used up before the
/// next call.
void write_safetensors(const std::string& path,
                       const std::vector<HeaderTensor>& tensors,
                       const SafetensorsMetadata& metadata,
                       const std::function<std::span<const std::byte>(std::size_t)>& bytes,
                       Checksum checksum = Checksum::no);

}  // namespace tandem::detail
