# hearth_embed(TARGET NAME DIRECTORY PATTERNS...)
#
# Makes `hearth::ROOM::NAME()` in TARGET, the library hearth_ROOM: a span of {path, bytes} of the
# files below DIRECTORY that match, carried inside the program. ROOM/embedded.h declares it.
function(hearth_embed target name directory)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${directory} ${ARGN})
  list(FILTER files EXCLUDE REGEX "__pycache__|/tests/")
  list(SORT files)
  string(REGEX REPLACE "^hearth_" "" room ${target})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  list(TRANSFORM files PREPEND ${directory}/ OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DROOM=${room} -DNAME=${name}
            -DDIRECTORY=${directory} "-DFILES=${files}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${out} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
