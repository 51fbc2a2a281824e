// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/tensor_file.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/host_array.hpp"

#include "io/safetensors_writer.hpp"

namespace tandem {

HostArray read_array(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  if (entry.stored == detail::stored_type(entry.dtype).name) {
    HostArray array(entry.dtype, entry.shape);
    file.read(entry, array.bytes);
    return array;
  }
  const detail::StoredType* type = detail::stored_type(entry.stored);
  const auto fail = [&](const std::string& problem) {
    throw FileError(file.path(),
                    static_cast<std::int64_t>(entry.offset),
                    "safetensors: tensor '" + entry.name + "' is " + entry.stored + problem);
  };
  if (type == nullptr || !type->held)
    fail(", which tandem cannot read; it reads " + detail::read_types());
  std::vector<std::byte> bytes(entry.nbytes);
  file.read(entry, bytes);
  std::optional<HostArray> array = detail::widened(*type, entry.shape, bytes);
  if (!array) fail(" with a number of 2^63 or more, which i64 cannot hold");
  return std::move(*array);
}

Tensor read_tensor(const SafetensorsFile& file, const SafetensorsEntry& entry, Device device) {
  return to_tensor(read_array(file, entry), device);
}

std::map<std::string, Tensor> load_safetensors(const std::string& path, Device device) {
  const SafetensorsFile file(path);
  std::map<std::string, Tensor> tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    tensors.emplace(entry.name, read_tensor(file, entry, device));
  }
  return tensors;
}

void save_safetensors(const std::string& path,
                      const std::map<std::string, Tensor>& tensors,
                      const SafetensorsMetadata& metadata,
                      Checksum checksum) {
  std::vector<detail::HeaderTensor> described;
  std::vector<const Tensor*> sources;
  for (const auto& [name, x] : tensors) {
    TANDEM_CHECK(x.defined(), "save_safetensors: the tensor '", name, "' is undefined");
    described.push_back({.name = name, .type = detail::stored_type(x.dtype()), .shape = x.shape()});
    sources.push_back(&x);
  }
  HostArray held;
  const auto bytes = [&](std::size_t i) {
    held = to_host_array(*sources[i]);
    return std::span<const std::byte>(held.bytes);
  };
  detail::write_safetensors(path, described, metadata, bytes, checksum);
}

}  // namespace tandem
