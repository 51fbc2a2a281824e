// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/memory.hpp"

#include <iterator>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace tandem::stand_in {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLeast = std::size_t{64} << 30;

void* mapped(int file, std::size_t size, int access) {
  return mmap(nullptr, size, access, MAP_SHARED | MAP_NORESERVE, file, 0);
}

}  // namespace

void Memory::map() {
  const int file = memfd_create("tandem-stand-in-gpus", MFD_CLOEXEC);
  if (file < 0) throw std::runtime_error("memfd_create fails, so there is no memory for GPUs");
  for (; size_ >= kLeast; size_ /= 2) {
    if (ftruncate(file, static_cast<off_t>(size_)) != 0) continue;
    void* const shown = mapped(file, size_, PROT_NONE);
    void* const used = mapped(file, size_, PROT_READ | PROT_WRITE);
    if (shown != MAP_FAILED && used != MAP_FAILED) {
      close(file);
      // As with CUDA, a process that is forked from here on has no use of its parent's GPUs.
      madvise(shown, size_, MADV_DONTFORK);
      madvise(used, size_, MADV_DONTFORK);
      begin_ = fresh_ = static_cast<std::byte*>(shown);
      alias_ = static_cast<std::byte*>(used) - begin_;
      return;
    }
    if (shown != MAP_FAILED) munmap(shown, size_);
    if (used != MAP_FAILED) munmap(used, size_);
  }
  close(file);
  throw std::runtime_error(
      "the process may not map 64 GiB of addresses twice; raise its limit (ulimit -v)");
}

// A page stays free behind each block, so that what runs past a block's end is in none.
std::byte* Memory::reserve(std::size_t nbytes) {
  if (begin_ == nullptr) map();
  std::byte* const p = fresh_;
  if (nbytes + kPage > static_cast<std::size_t>(begin_ + size_ - fresh_)) return recycled(nbytes);
  fresh_ += nbytes + kPage;
  return p;
}

const Memory::Block* Memory::allocate(int gpu, std::size_t nbytes) {
  const std::size_t size = (nbytes + kPage - 1) / kPage * kPage;
  std::byte* const p = reserve(size);
  if (p == nullptr) return nullptr;
  return &(blocks_[p] = {p, size, gpu});
}

std::byte* Memory::recycled(std::size_t size) {
  for (auto old = freed_.begin(); old != freed_.end(); ++old) {
    if (old->size < size) continue;
    std::byte* const p = old->data;
    freed_.erase(old);
    return p;
  }
  return nullptr;
}

Memory::Block Memory::forget(const void* p) {
  return blocks_.extract(static_cast<const std::byte*>(p)).mapped();
}

void Memory::clear(const Block& block) {
  madvise(block.data + alias_, block.size, MADV_REMOVE);
}

void Memory::give_back(const Block& block) {
  clear(block);
  freed_.push_back(block);
}

const Memory::Block* Memory::find(const void* p) const {
  auto next = blocks_.upper_bound(static_cast<const std::byte*>(p));
  if (next == blocks_.begin()) return nullptr;
  const Block& block = std::prev(next)->second;
  return p < block.data + block.size ? &block : nullptr;
}

bool Memory::has(const void* p, std::size_t nbytes) const {
  const std::byte *at = static_cast<const std::byte*>(p), *const end = at + nbytes;
  while (at < end) {
    const Block* const block = find(at);
    if (block == nullptr) return false;
    at = block->data + block->size;
  }
  return true;
}

bool Memory::is_pinned(const void* p) const {
  const auto next = pinned_.upper_bound(static_cast<const std::byte*>(p));
  if (next == pinned_.begin()) return false;
  const auto [first, size] = *std::prev(next);
  return p < first + size;
}

}  // namespace tandem::stand_in
