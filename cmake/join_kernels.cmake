# cmake -D VARIANT=x86-64-v3 -D OBJECTS=... -D OUTPUT=... -D LINKER=ld -D NM=nm -D OBJCOPY=objcopy -P join_kernels.cmake
#
# Joins the objects of a variant into one, whose functions nobody else sees but those that other folders call. Those
# have the variant's name behind their own: matmul is matmul.x86_64_v3, as debuggers and profilers show it.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "joining the kernels for ${VARIANT}: ${ARGN}: ${error}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

string(REPLACE "-" "_" suffix "${VARIANT}")  # a dash is no part of a name to the assembler
run("${LINKER}" -r --force-group-allocation -o "${OUTPUT}.all" ${OBJECTS})
run("${NM}" --defined-only --format=posix "${OUTPUT}.all")
string(REPLACE "\n" ";" symbols "${output}")
# A function is called from elsewhere if it is no template, or one whose type of stream somebody names. Of what is
# weak and no function, such as the type of an exception, all parts of a program have one.
set(entries "")
set(kept "")
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "^(_ZN6tandem7kernels[^ ]+) ([TW]) ")
    set(name "${CMAKE_MATCH_1}")
    if(CMAKE_MATCH_2 STREQUAL "T" OR name MATCHES "^_ZN6tandem7kernels[0-9]+[a-z_]+IN?S_10HostStreamE")
      string(APPEND entries "${name} ${name}.${suffix}\n")
      string(APPEND kept "${name}\n")
    endif()
  elseif(symbol MATCHES "^([^ ]+) [Vu] ")
    string(APPEND kept "${CMAKE_MATCH_1}\n")
  endif()
endforeach()
file(WRITE "${OUTPUT}.kept" "${kept}")
file(WRITE "${OUTPUT}.renamed" "${entries}")
run("${OBJCOPY}" "--keep-global-symbols=${OUTPUT}.kept" "${OUTPUT}.all")
run("${OBJCOPY}" "--redefine-syms=${OUTPUT}.renamed" "${OUTPUT}.all" "${OUTPUT}")
