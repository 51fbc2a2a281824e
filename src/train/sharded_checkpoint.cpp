// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/sharded_checkpoint.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"

#include "io/folder.hpp"
#include "io/safetensors_writer.hpp"
#include "train/checkpoint_index.hpp"
#include "train/run_content.hpp"

namespace tandem::training {
namespace {

using tandem::detail::FolderWriter;

constexpr std::int64_t kMostFiles = 99'999;  // names have five digits

/// The file of each tensor: from the largest on, each goes to the file that has the fewest bytes.
std::vector<std::size_t> dealt(const std::vector<SavedTensor>& tensors, std::size_t files) {
  std::vector<std::size_t> by_size(tensors.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(
      by_size, std::ranges::greater(), [&](std::size_t i) { return tensors[i].nbytes(); });
  std::vector<std::size_t> file_of(tensors.size());
  std::vector<std::pair<std::size_t, std::size_t>> load(files);  // bytes, tensors
  for (const std::size_t i : by_size) {
    const auto least = std::ranges::min_element(load);
    file_of[i] = static_cast<std::size_t>(least - load.begin());
    least->first += tensors[i].nbytes();
    ++least->second;
  }
  return file_of;
}

/// In the order of the module, as far as the files' alignment allows: so a unit is gathered once.
std::vector<std::size_t> written_order(const std::vector<SavedTensor>& tensors) {
  std::vector<tandem::detail::StoredType> types;
  for (const SavedTensor& tensor : tensors)
    types.push_back(tensor.header().type);
  return tandem::detail::aligned_order(types);
}

/// Writes the tensors to files of `out`. @return  their index, without the run's metadata.
CheckpointIndex write_shards(FolderWriter& out,
                             const std::string& what,
                             const std::vector<SavedTensor>& tensors,
                             std::int64_t most) {
  const auto files = std::min(static_cast<std::size_t>(most), tensors.size());
  const std::vector<std::size_t> file_of = dealt(tensors, files);
  const std::vector<std::size_t> order = written_order(tensors);
  std::vector<std::vector<tandem::detail::HeaderTensor>> headers(files);
  for (const std::size_t i : order)
    headers[file_of[i]].push_back(tensors[i].header());
  CheckpointIndex index;
  std::vector<std::string> names;
  std::deque<tandem::detail::SafetensorsPlan> plans;
  std::deque<tandem::detail::SafetensorsStream> streams;
  for (std::size_t f = 0; f < files; ++f) {
    const auto number = static_cast<std::int64_t>(f) + 1;
    names.push_back(shard_name(what, number, static_cast<std::int64_t>(files)));
    // What a reader of Hugging Face's asks for.
    plans.emplace_back(std::move(headers[f]), SafetensorsMetadata{{"format", "pt"}}, Checksum::yes);
    streams.emplace_back(out.add(names[f]), plans[f]);
  }
  std::vector<std::byte> held;
  for (const std::size_t i : order) {
    held.resize(tensors[i].nbytes());
    tensors[i].read(held);
    streams[file_of[i]].add(held);
    index.weight_map[tensors[i].name] = names[file_of[i]];
    index.total_size += tensors[i].nbytes();
  }
  for (std::size_t f = 0; f < files; ++f)
    index.checksums[names[f]] = streams[f].end();
  return index;
}

/// @return  its checksum.
std::string write_index(FolderWriter& out, const std::string& what, const CheckpointIndex& index) {
  IndexText formatted = format_index(index);
  out.add(index_name(what)).write(std::as_bytes(std::span(formatted.text)));
  return std::move(formatted.checksum);
}

}  // namespace

void save_sharded_checkpoint(const std::string& folder,
                             const nn::Module& module,
                             const optim::Optimizer& optimizer,
                             const RunState& state,
                             const ShardedCheckpointOptions& options,
                             const optim::LRScheduler* schedule) {
  TANDEM_CHECK(options.files >= 1 && options.files <= kMostFiles,
               "save_sharded_checkpoint: files is ",
               options.files,
               "; it must be in [1, ",
               kMostFiles,
               "], usually the number of devices");
  const RunContent content(module, optimizer, state, schedule);
  tandem::detail::write_folder_atomically(folder, is_checkpoint_file, [&](FolderWriter& out) {
    CheckpointIndex root = write_shards(out, "model", content.model, options.files);
    const CheckpointIndex own = write_shards(out, "optimizer", content.optimizer, options.files);
    root.checksums.insert(own.checksums.begin(), own.checksums.end());
    root.checksums[index_name("optimizer")] = write_index(out, "optimizer", own);
    root.metadata = content.metadata;
    write_index(out, "model", root);
  });
}

void check_replaceable_checkpoint(const std::string& folder) {
  tandem::detail::check_replaceable_folder(folder, is_checkpoint_file);
}

}  // namespace tandem::training
