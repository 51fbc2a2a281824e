// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/prefix_store.hpp"

#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::world {

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(std::move(store)) {
  TANDEM_CHECK(store_ != nullptr, "PrefixStore '", prefix_, "': the store is null; give one");
}

std::vector<std::string> PrefixStore::whole(const std::vector<std::string>& keys) const {
  std::vector<std::string> all;
  for (const std::string& key : keys)
    all.push_back(whole(key));
  return all;
}

void PrefixStore::set(const std::string& key, const std::string& value) {
  store_->set(whole(key), value);
}

std::string PrefixStore::get(const std::string& key) {
  return store_->get(whole(key));
}

std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) {
  return store_->add(whole(key), amount);
}

std::string PrefixStore::compare_set(const std::string& key,
                                     const std::string& expected,
                                     const std::string& desired) {
  return store_->compare_set(whole(key), expected, desired);
}

bool PrefixStore::check(const std::vector<std::string>& keys) {
  return store_->check(whole(keys));
}

void PrefixStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  store_->wait(whole(keys), timeout);
}

bool PrefixStore::delete_key(const std::string& key) {
  return store_->delete_key(whole(key));
}

void PrefixStore::append(const std::string& key, const std::string& value) {
  store_->append(whole(key), value);
}

}  // namespace tandem::world
