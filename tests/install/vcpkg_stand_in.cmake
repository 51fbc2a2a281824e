# What the port calls of vcpkg, as far as its documentation says what these functions do, so that the port runs without it:
# cmake -D BUILD_DIR=... -D CURRENT_PACKAGES_DIR=... -D CONFIGURED=... -D PORTFILE=... -P vcpkg_stand_in.cmake
# The port's options are configured for in CONFIGURED; what is installed is the build of BUILD_DIR.
cmake_policy(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_linkage only)
  if(NOT only STREQUAL "ONLY_STATIC_LIBRARY")
    message(FATAL_ERROR "vcpkg_check_linkage: got ${only}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CONFIGURED}" -D BUILD_SHARED_LIBS=OFF -D CMAKE_BUILD_TYPE=Release ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${CURRENT_PACKAGES_DIR}")
endfunction()

# The package's files move to share/PORT, from where two folders up is the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  file(COPY ${files} DESTINATION "${share}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
  file(GLOB files "${share}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    set(up [[get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)]])
    string(REPLACE "${up}\n${up}\n${up}\n" "${up}\n${up}\n" text "${text}")
    string(REPLACE "/../../../\" ABSOLUTE" "/../../\" ABSOLUTE" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  foreach(file IN LISTS arg_FILE_LIST)
    file(READ "${file}" text)
    file(APPEND "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "${text}")
  endforeach()
endfunction()

set(PORT tandem)
include("${PORTFILE}")
