# The port of vcpkg for the tree that it lies in: vcpkg install tandem --overlay-ports=ports
set(VCPKG_BUILD_TYPE release)  # programs of either type link it
set(VCPKG_POLICY_ALLOW_EXES_IN_BIN enabled)  # the program finds its data and plug-ins from there
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../..")

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DCMAKE_UNITY_BUILD=ON
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=32
    -DTANDEM_BUILD_TESTS=OFF
    -DTANDEM_BUILD_EXAMPLES=OFF
    -DTANDEM_WERROR=OFF  # compilers that come later warn of more
    -DTANDEM_MARCH=x86-64-v2  # on which the package runs; its kernels are chosen by the processor
    "-DTANDEM_KERNELS=x86-64-v2,x86-64-v3,x86-64-v4"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tandem)
vcpkg_fixup_pkgconfig()
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/THIRD_PARTY_NOTICES.md")
