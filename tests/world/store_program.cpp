// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A store for pytorch_store_test.py. "serve" prints the address and serves until its input ends;
// "client ADDRESS" answers each line of its input, such as "compare_set key expected desired", with
// "-" for an empty text.

#include <iostream>
#include <sstream>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/world/store_server.hpp"
#include "tandem/world/tcp_store.hpp"

namespace tandem::world {
namespace {

std::string text(std::istream& in) {
  std::string word;
  in >> word;
  return word == "-" ? "" : word;
}

std::string answer(Store& store, const std::string& line) {
  std::istringstream in(line);
  const std::string what = text(in), key = text(in);
  if (what == "set") return store.set(key, text(in)), "";
  if (what == "get") return store.get(key);
  if (what == "add") return std::to_string(store.add(key, std::stoll(text(in))));
  if (what == "check") return store.check({key}) ? "yes" : "no";
  if (what == "wait") return store.wait({key}, std::chrono::milliseconds(std::stoi(text(in)))), "";
  if (what == "delete_key") return store.delete_key(key) ? "yes" : "no";
  if (what == "append") return store.append(key, text(in)), "";
  if (what == "num_keys") return std::to_string(store.num_keys());
  if (what != "compare_set") return "what is " + what + "?";
  const std::string expected = text(in);
  return store.compare_set(key, expected, text(in));
}

int serve() {
  const StoreServer server({"127.0.0.1", 0});
  std::cout << to_string(server.address()) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

int be_client(const std::string& address) {
  TcpStore store(parse_address(address), std::chrono::seconds(20));
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(store, line) << std::endl;
    } catch (const Error& e) {
      std::cout << "error: " << e.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace
}  // namespace tandem::world

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "serve") return tandem::world::serve();
  if (how == "client" && argc == 3) return tandem::world::be_client(argv[2]);
  std::cerr << "usage: store_program serve | store_program client ADDRESS\n";
  return 2;
}
