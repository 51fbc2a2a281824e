# Warnings, sanitizers and code generation of our own targets; nothing global, so that a parent
# project keeps its flags.
if(PROJECT_IS_TOP_LEVEL)
  find_program(TANDEM_CCACHE ccache)
  mark_as_advanced(TANDEM_CCACHE)
  foreach(language IN ITEMS CXX CUDA)
    if(TANDEM_CCACHE AND NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${TANDEM_CCACHE}")
    endif()
  endforeach()
endif()

function(tandem_compile_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra;-Xfatbin=-compress-all>)
  if(TANDEM_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(TANDEM_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TANDEM_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
    # These two checks of GCC take a third of the time to compile. The address sanitizer sees what is read at null, and
    # clang checks the alignment of what the parsers read (scripts/fuzz).
    if(TANDEM_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment>)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${TANDEM_SANITIZE})
  endif()
endfunction()

# What makes a fault in memory harder to use, for what is installed: canaries on the stack, checked sizes in calls of the
# C library, jumps to known places alone, tables of the linker that are read-only from the start.
function(tandem_harden target)
  if(NOT TANDEM_HARDENING OR TANDEM_SANITIZE)  # a sanitizer sees more, and does not go with checked calls
    return()
  endif()
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fcf-protection TANDEM_HAS_CF_PROTECTION)  # of x86
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TANDEM_HAS_CF_PROTECTION}>>:-fcf-protection>)
  target_link_options(${target} PRIVATE LINKER:-z,relro LINKER:-z,now)
endfunction()

# tandem_name_files_only(TARGET [FOLDER...]): errors that name the file that they come from (__FILE__), one of tandem's or
# below a FOLDER, do not name the folder in which it lay when it was compiled.
function(tandem_name_files_only target)
  foreach(folder IN LISTS ARGN ITEMS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..")
    cmake_path(SET folder NORMALIZE "${folder}/")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${folder}=>)
  endforeach()
endfunction()

# For the library alone. Without contraction a kernel gives the same bits in the body and in the tail
# of a vector loop, inlined or not, in every build type; GEMM and convolution have FMA in their libraries.
function(tandem_kernel_options target march)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  if(march)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=${march}>)
  endif()
  # GCC 12 for AVX-512 made of the constants {1, 1, 0, 0} of a struct that is passed {1, 1, 1, 1}, once this pass
  # had put them together; kernels have it nevertheless (src/kernels), and values of others to be held against.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-tree-slp-vectorize>)
  endif()
  # The dialect by its flag: CMake 3.25 does not know that nvcc has C++20. Functors call constexpr
  # functions of the standard library.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr>)
endfunction()

# Where the library is for a level of x86-64, glibc's loader looks whether the processor has it, and says so if not: no
# program ends by a signal for an unknown instruction.
function(tandem_tell_level target)
  if(TANDEM_MARCH MATCHES "^x86-64-v[234]$")
    target_link_options(${target} PRIVATE LINKER:-z,${TANDEM_MARCH})
  endif()
endfunction()
