# The version that a header's macros spell, as "2.28.9"; empty if there is no such header. For the
# Find modules beside it, with which it is installed.
#
#   tandem_header_version(<variable> <header> <macro>...)      NCCL_MAJOR NCCL_MINOR NCCL_PATCH
function(tandem_header_version variable header)
  set(parts)
  if(EXISTS "${header}")
    list(JOIN ARGN "|" macros)
    file(STRINGS "${header}" lines REGEX "^#define (${macros}) +[0-9]+")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "[0-9]+$" part "${line}")
      list(APPEND parts "${part}")
    endforeach()
  endif()
  list(JOIN parts "." version)
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()
