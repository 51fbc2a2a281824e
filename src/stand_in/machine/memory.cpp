// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tandem::stand_in {
namespace {

constexpr std::size_t kPage = 4096, kLargePage = std::size_t{2} << 20;
constexpr std::size_t kLeast = std::size_t{64} << 30;
/// What fresh memory has, and how much of a block gets it: a large one may never be used as a
/// whole. What freed memory has, where nothing else is seen of it.
constexpr int kFresh = 0xCD, kFreed = 0xDD;
constexpr std::size_t kMostFilled = std::size_t{64} << 20;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSeesEachUse = true;
#else
constexpr bool kSeesEachUse = false;
#endif

void* mapped(int file, std::size_t size, int access) {
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  return mmap(nullptr, size, access, kind | MAP_NORESERVE, file, 0);
}

}  // namespace

void Memory::map_once() {
  void* const p = mapped(-1, size_ = kLeast, PROT_NONE);
  if (p == MAP_FAILED)
    throw std::runtime_error(
        "the process may not map 64 GiB of addresses; raise its limit (ulimit -v)");
  madvise(p, size_, MADV_HUGEPAGE);  // opening takes time for each page
  begin_ = fresh_ = static_cast<std::byte*>(p);
}

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

bool Memory::open_while(const std::function<bool()>& tasks) {
  if (alias_ != 0) return tasks();
  const auto used =
      (static_cast<std::size_t>(fresh_ - begin_) + kLargePage - 1) / kLargePage * kLargePage;
  mprotect(begin_, used, PROT_READ | PROT_WRITE);
  const bool result = tasks();
  mprotect(begin_, used, PROT_NONE);
  return result;
}

// A page stays free behind each block, so that what runs past a block's end is in none.
std::byte* Memory::reserve(std::size_t nbytes) {
  if (begin_ == nullptr) map();
  std::byte* const p = fresh_;
  if (nbytes + kPage > static_cast<std::size_t>(begin_ + size_ - fresh_)) return recycled(nbytes);
  fresh_ += nbytes + kPage;
  ASAN_POISON_MEMORY_REGION(host(p), nbytes + kPage);
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

void Memory::fill(const Block& block) {
  ASAN_UNPOISON_MEMORY_REGION(host(block.data), block.size);
  std::memset(host(block.data), kFresh, std::min(block.size, kMostFilled));
}

// The address sanitizer sees who uses it, and a page with something in it makes each opening
// slower.
void Memory::clear(const Block& block) {
  if (alias_ != 0)
    madvise(host(block.data), block.size, MADV_REMOVE);
  else if (kSeesEachUse)
    madvise(block.data, block.size, MADV_DONTNEED);
  else
    std::memset(block.data, kFreed, block.size);
  ASAN_POISON_MEMORY_REGION(host(block.data), block.size);
}

void Memory::give_back(const Block& block) {
  clear(block);
  freed_.push_back(block);
}

void Memory::give_back_addresses(std::byte* p, std::size_t nbytes) {
  if (alias_ == 0) madvise(p, nbytes, MADV_DONTNEED);
  freed_.push_back({p, nbytes, 0});
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

Memory::Pinned Memory::pinned(const void* p, std::size_t nbytes) const {
  const std::byte *const begin = static_cast<const std::byte*>(p), *const end = begin + nbytes;
  const auto next = pinned_.lower_bound(end);
  if (next == pinned_.begin()) return Pinned::no;
  const auto [first, size] = *std::prev(next);  // the last one that begins before the end
  if (first + size <= begin) return Pinned::no;
  return first <= begin && first + size >= end ? Pinned::yes : Pinned::partly;
}

}  // namespace tandem::stand_in
