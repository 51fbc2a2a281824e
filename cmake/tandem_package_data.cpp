// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A program that links a static libtandem compiles this file: it tells the library where the data
// sets and the plug-ins of the installation lie, which may have been moved since the library was
// built. Several targets of one program may bring the same definition.
namespace tandem::datasets {
[[gnu::weak]] extern const char* const kPackageData;
const char* const kPackageData = TANDEM_PACKAGE_DATA;
}  // namespace tandem::datasets

namespace tandem::world {
[[gnu::weak]] extern const char* const kPackagePlugins;
const char* const kPackagePlugins = TANDEM_PACKAGE_PLUGINS;
}  // namespace tandem::world
