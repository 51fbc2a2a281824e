# Finds the serial OpenBLAS: each device thread runs its own GEMM and shares nothing (docs/adr/0001).
#
# Debian's alternatives give the threaded build under the plain name, so the serial one is taken by
# its folder. Defines OpenBLASSerial::OpenBLASSerial. Installed beside tandemConfig.cmake, which
# uses it to find the library again.
set(_openblas_serial_suffixes openblas-serial)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(PREPEND _openblas_serial_suffixes "${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial")
endif()
find_library(OpenBLASSerial_LIBRARY NAMES openblas PATHS /usr/lib NO_DEFAULT_PATH
             PATH_SUFFIXES ${_openblas_serial_suffixes})
find_path(OpenBLASSerial_INCLUDE_DIR NAMES cblas.h PATHS /usr/include NO_DEFAULT_PATH
          PATH_SUFFIXES ${_openblas_serial_suffixes})
unset(_openblas_serial_suffixes)
mark_as_advanced(OpenBLASSerial_LIBRARY OpenBLASSerial_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenBLASSerial
  REQUIRED_VARS OpenBLASSerial_LIBRARY OpenBLASSerial_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install Debian's libopenblas-serial-dev (scripts/setup does), or set both variables")

if(OpenBLASSerial_FOUND AND NOT TARGET OpenBLASSerial::OpenBLASSerial)
  add_library(OpenBLASSerial::OpenBLASSerial UNKNOWN IMPORTED)
  set_target_properties(OpenBLASSerial::OpenBLASSerial PROPERTIES
    IMPORTED_LOCATION "${OpenBLASSerial_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OpenBLASSerial_INCLUDE_DIR}")
endif()
