# Finds OpenBLAS's pthread build, the one that several threads may call at once (docs/adr/0001).
#
# Debian's alternatives may give another build under the plain name, and the serial one is not
# thread-safe, so it is taken by its folder. Defines OpenBLASPthread::OpenBLASPthread. Installed
# beside tandemConfig.cmake, which uses it to find the library again.
set(_openblas_pthread_suffixes openblas-pthread)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(PREPEND _openblas_pthread_suffixes "${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread")
endif()
set(_openblas_name openblas)
if(TANDEM_OPENBLAS_STATIC)
  set(_openblas_name libopenblas.a)
endif()
find_library(OpenBLASPthread_LIBRARY NAMES ${_openblas_name} PATHS /usr/lib NO_DEFAULT_PATH
             PATH_SUFFIXES ${_openblas_pthread_suffixes})
find_path(OpenBLASPthread_INCLUDE_DIR NAMES cblas.h PATHS /usr/include NO_DEFAULT_PATH
          PATH_SUFFIXES ${_openblas_pthread_suffixes})
unset(_openblas_name)
unset(_openblas_pthread_suffixes)
mark_as_advanced(OpenBLASPthread_LIBRARY OpenBLASPthread_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenBLASPthread
  REQUIRED_VARS OpenBLASPthread_LIBRARY OpenBLASPthread_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install Debian's libopenblas-pthread-dev (scripts/setup does), or set both variables")

if(OpenBLASPthread_FOUND AND NOT TARGET OpenBLASPthread::OpenBLASPthread)
  add_library(OpenBLASPthread::OpenBLASPthread UNKNOWN IMPORTED)
  set_target_properties(OpenBLASPthread::OpenBLASPthread PROPERTIES
    IMPORTED_LOCATION "${OpenBLASPthread_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OpenBLASPthread_INCLUDE_DIR}")
  # Nehalem is the first processor of x86-64-v2. Where nothing older loads the library, OpenBLAS's table has Nehalem's kernels
  # in place of those for older processors, which then nothing links.
  if(TANDEM_OPENBLAS_STATIC AND TANDEM_MARCH MATCHES "^x86-64-v[2-4]$")
    foreach(core IN ITEMS PRESCOTT CORE2 PENRYN DUNNINGTON ATOM NANO OPTERON OPTERON_SSE3 BARCELONA BOBCAT)
      set_property(TARGET OpenBLASPthread::OpenBLASPthread APPEND PROPERTY
                   INTERFACE_LINK_OPTIONS "LINKER:--defsym=gotoblas_${core}=gotoblas_NEHALEM")
    endforeach()
  endif()
endif()
