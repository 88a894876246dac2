# hearth_embed(TARGET NAME DIRECTORY PATTERNS...)
#
# Makes `hearth::app::NAME()` in TARGET: a span of {path, bytes} of the files below DIRECTORY that
# match, carried inside the program.
function(hearth_embed target name directory)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${directory} ${ARGN})
  list(FILTER files EXCLUDE REGEX "__pycache__|/tests/")
  list(SORT files)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  list(TRANSFORM files PREPEND ${directory}/ OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${name} -DDIRECTORY=${directory} "-DFILES=${files}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${out} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
