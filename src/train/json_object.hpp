// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tandem::training {

using Json = nlohmann::json;

/// @throws InvalidArgument  it is not a JSON object, or has a key twice.
Json parse_object(const std::string& text);
/// @throws InvalidArgument  there is none.
const Json& field_of(const Json& object, const std::string& key);
/// @throws InvalidArgument  there is none, or it is not a string.
std::string text_of(const Json& object, const std::string& key);

}  // namespace tandem::training
