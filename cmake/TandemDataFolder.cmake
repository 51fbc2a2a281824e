# Where scripts/setup puts what is no package of Debian: $XDG_DATA_HOME/tandem, or ~/.local/share/tandem. Installed beside
# tandemConfig.cmake, since FindLibtorch.cmake uses it.
function(tandem_data_folder variable)
  set(data "$ENV{XDG_DATA_HOME}")
  if(NOT data)
    set(data "$ENV{HOME}/.local/share")
  endif()
  set(${variable} "${data}/tandem" PARENT_SCOPE)
endfunction()
