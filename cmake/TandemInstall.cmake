# Installs headers, library, program and the package files of find_package(tandem). Relocatable:
# nothing of the prefix is written into a file.
include(CMakePackageConfigHelpers)
set(tandem_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tandem")

get_target_property(tandem_type tandem TYPE)
set(TANDEM_IS_SHARED OFF)
if(tandem_type STREQUAL "SHARED_LIBRARY")
  set(TANDEM_IS_SHARED ON)
endif()

install(TARGETS tandem EXPORT tandemTargets FILE_SET HEADERS)
install(EXPORT tandemTargets NAMESPACE tandem:: DESTINATION "${tandem_package_dir}")
if(TARGET tandem_libtorch)  # a component: only its users need PyTorch
  install(TARGETS tandem_libtorch EXPORT tandemLibtorchTargets FILE_SET HEADERS)
  install(EXPORT tandemLibtorchTargets NAMESPACE tandem:: DESTINATION "${tandem_package_dir}")
  find_package(Libtorch ${TANDEM_TORCH_VERSION} REQUIRED)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" TANDEM_TORCH_VERSION "${LIBTORCH_VERSION}")  # it runs with no older one
endif()
install(TARGETS tandem_report EXPORT tandemReportTargets FILE_SET HEADERS)  # a component: only its users need fmt
install(EXPORT tandemReportTargets NAMESPACE tandem:: DESTINATION "${tandem_package_dir}")
set(TANDEM_PLUGINS "${CMAKE_INSTALL_LIBDIR}/tandem")
foreach(plugin IN ITEMS tandem_gloo tandem_mpi)  # loaded by name, where programs ask for them
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION "${TANDEM_PLUGINS}")
  endif()
endforeach()
set(TANDEM_DATA "${CMAKE_INSTALL_DATADIR}/tandem")
configure_package_config_file(cmake/tandemConfig.cmake.in tandemConfig.cmake
                              INSTALL_DESTINATION "${tandem_package_dir}" PATH_VARS TANDEM_DATA TANDEM_PLUGINS)
write_basic_package_version_file(tandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
              "${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake"
              cmake/FindCUDNN.cmake cmake/FindLibtorch.cmake cmake/FindNCCL.cmake cmake/FindOpenBLASPthread.cmake
              cmake/TandemDataFolder.cmake cmake/TandemHeaderVersion.cmake cmake/tandem_package_data.cpp
        DESTINATION "${tandem_package_dir}")
install(DIRECTORY src/cli/schemas/ DESTINATION "${TANDEM_DATA}/schema")  # of what --json writes
include(TandemPkgConfig)
install(FILES LICENSE THIRD_PARTY_NOTICES.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# OpenBLAS lies in a folder of its own: whoever loads it needs that folder in its RPATH.
file(RELATIVE_PATH tandem_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set_target_properties(tandem PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
if(TARGET tandem_cli)
  install(TARGETS tandem_cli)
  set_target_properties(tandem_cli PROPERTIES
    INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "$ORIGIN/${tandem_bin_to_lib}")
  install(FILES "$<TARGET_PROPERTY:tandem_cli,BINARY_DIR>/tandem.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
          RENAME tandem)
  install(FILES "$<TARGET_PROPERTY:tandem_cli,BINARY_DIR>/tandem.zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
          RENAME _tandem)
endif()
include(TandemPackage)
