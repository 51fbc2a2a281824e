# The host's kernels, for one processor or for several.
#
# TANDEM_KERNELS lists what they are compiled for: levels of x86-64, least first, or one value of -march=. Where there are
# several, all are in the library, and the program takes the best one that its processor has (src/kernels/variants.hpp).
# A program for any x86-64 is then as fast as one for its machine. It takes the time of the kernels once more for each.

# What is compiled with the flags of one processor, and nothing else, so that no function of the standard library that
# another file has too is taken from it: the linker keeps one of equals, whatever instructions are in it.
function(tandem_kernel_variant variant march)
  add_library(${variant} OBJECT ${ARGN})
  set_target_properties(${variant} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_compile_features(${variant} PRIVATE cxx_std_20)
  target_include_directories(${variant} PRIVATE $<TARGET_PROPERTY:tandem,INCLUDE_DIRECTORIES>)
  # Thrust without a toolkit: its device side is named, so that no CUDA header is looked for.
  target_compile_definitions(${variant} PRIVATE THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP)
  tandem_compile_options(${variant})
  tandem_harden(${variant})
  tandem_name_files_only(${variant})
  tandem_kernel_options(${variant} "${march}")
  tandem_link_dependencies(${variant})
  # Vectorised in every build type but Debug and the sanitizers'; nobody looks at errno or at trapped exceptions, which
  # would keep square roots and selections from it. Results stay the same.
  if(NOT TANDEM_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${variant} PRIVATE -O3 -ftree-slp-vectorize -fno-math-errno -fno-trapping-math)
  endif()
endfunction()

# tandem_add_kernels(<sources>): adds them to the library tandem. The global property TANDEM_KERNEL_OBJECTS has their
# objects, which are none of $<TARGET_OBJECTS:tandem>.
function(tandem_add_kernels)
  string(REPLACE "," ";" variants "${TANDEM_KERNELS}")
  if(NOT variants)
    set(variants "${TANDEM_MARCH}")
  endif()
  string(REPLACE ";" "\",\"" names "${variants}")
  set_property(SOURCE variants.cpp TARGET_DIRECTORY tandem PROPERTY COMPILE_DEFINITIONS "TANDEM_KERNELS=\"${names}\"")
  list(LENGTH variants count)
  if(count LESS 2)
    tandem_kernel_variant(tandem_kernels "${variants}" ${ARGN})
    target_sources(tandem PRIVATE $<TARGET_OBJECTS:tandem_kernels>)
    set_property(GLOBAL PROPERTY TANDEM_KERNEL_OBJECTS $<TARGET_OBJECTS:tandem_kernels>)
    return()
  endif()
  set(folder "${PROJECT_BINARY_DIR}/kernels")
  file(MAKE_DIRECTORY "${folder}")
  set(joined)
  set(compiled)
  foreach(march IN LISTS variants)
    if(NOT march MATCHES "^x86-64(-v[234])?$")
      message(FATAL_ERROR "TANDEM_KERNELS has '${march}' beside others; expected x86-64, x86-64-v2, x86-64-v3 or x86-64-v4")
    endif()
    tandem_kernel_variant(tandem_kernels_${march} ${march} ${ARGN})
    add_custom_command(
      OUTPUT "${folder}/${march}.o"
      COMMAND "${CMAKE_COMMAND}" -D "VARIANT=${march}" -D "OBJECTS=$<TARGET_OBJECTS:tandem_kernels_${march}>"
              -D "OUTPUT=${folder}/${march}.o" -D "LINKER=${CMAKE_LINKER}" -D "NM=${CMAKE_NM}" -D "OBJCOPY=${CMAKE_OBJCOPY}"
              -P "${PROJECT_SOURCE_DIR}/cmake/join_kernels.cmake"
      DEPENDS $<TARGET_OBJECTS:tandem_kernels_${march}> "${PROJECT_SOURCE_DIR}/cmake/join_kernels.cmake"
      COMMENT "Joining the kernels for ${march}" VERBATIM)
    list(APPEND joined "${folder}/${march}.o")
    list(APPEND compiled tandem_kernels_${march})
  endforeach()
  add_custom_command(
    OUTPUT "${folder}/entries.cpp"
    COMMAND "${CMAKE_COMMAND}" -D "VARIANTS=${variants}" -D "OBJECTS=${joined}" -D "OUTPUT=${folder}/entries.cpp"
            -D "NM=${CMAKE_NM}" -P "${PROJECT_SOURCE_DIR}/cmake/enter_kernels.cmake"
    DEPENDS ${joined} "${PROJECT_SOURCE_DIR}/cmake/enter_kernels.cmake"
    COMMENT "Making the entries of the kernels" VERBATIM)
  add_custom_target(tandem_join_kernels DEPENDS ${joined} "${folder}/entries.cpp")
  add_dependencies(tandem_join_kernels ${compiled})  # which make does not tell from the objects
  add_dependencies(tandem tandem_join_kernels)
  set_property(SOURCE "${folder}/entries.cpp" TARGET_DIRECTORY tandem PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(SOURCE ${joined} TARGET_DIRECTORY tandem PROPERTY EXTERNAL_OBJECT ON)
  set_property(SOURCE ${joined} "${folder}/entries.cpp" TARGET_DIRECTORY tandem PROPERTY GENERATED ON)
  target_sources(tandem PRIVATE ${joined} "${folder}/entries.cpp")
  set_property(GLOBAL PROPERTY TANDEM_KERNEL_OBJECTS ${joined})
endfunction()
