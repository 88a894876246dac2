# hearth_room(NAME ROOMS a b LIBRARIES x y)
#
# Declares the library of one room from the .cc files beside the calling CMakeLists.txt (subfolders
# included), the test program NAME_test from its *_test.cc files, NAME_contract_test of the group
# contract from its *_contract_test.cc files, and with HEARTH_FUZZ one libFuzzer program
# ROOM_NAME_fuzz for each NAME_fuzz.cc. A folder of a room that has a CMakeLists.txt of its
# own is left to it (executors/mock, db/sqlite ...).
function(hearth_room name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBRARIES;TEST_LIBRARIES;TEST_ROOMS" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS *.cc)
  file(GLOB own RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(sub ${own})
    get_filename_component(folder ${sub} DIRECTORY)
    list(FILTER all EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main)\\.cc$")
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(contracts ${tests})
  list(FILTER contracts INCLUDE REGEX "_contract_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_contract_test\\.cc$")
  set(fuzzers ${all})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  if(NOT sources)  # headers alone
    set(sources ${CMAKE_BINARY_DIR}/pch/pch.cc)
  endif()

  add_library(hearth_${name} STATIC ${sources})
  target_include_directories(hearth_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM ARG_ROOMS PREPEND hearth_)
  target_link_libraries(hearth_${name} PUBLIC ${ARG_ROOMS} ${ARG_LIBRARIES} Threads::Threads)
  target_precompile_headers(hearth_${name} REUSE_FROM hearth_pch)
  set_target_properties(hearth_${name} PROPERTIES LINKER_LANGUAGE CXX)

  if(HEARTH_TESTS AND tests)
    hearth_test(${name}_test SOURCES ${tests} ROOMS ${name} ${ARG_TEST_ROOMS}
                LIBRARIES ${ARG_TEST_LIBRARIES})
  endif()
  if(HEARTH_TESTS AND contracts)
    hearth_test(${name}_contract_test SOURCES ${contracts} ROOMS ${name} ${ARG_TEST_ROOMS}
                LIBRARIES ${ARG_TEST_LIBRARIES} LABEL contract)
  endif()
  if(HEARTH_FUZZ AND fuzzers)
    # Coverage counters only in the rooms that are fuzzed, so that the rest stays quick.
    # The PCH knows nothing of them and cannot be used; its headers are read as text.
    set_target_properties(hearth_${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    target_compile_options(hearth_${name} PRIVATE -fsanitize=fuzzer-no-link
                           -include ${CMAKE_BINARY_DIR}/pch/headers.h)
    foreach(source ${fuzzers})
      get_filename_component(stem ${source} NAME_WE)
      hearth_fuzz(${name}_${stem} SOURCES ${source} ROOMS ${name})
    endforeach()
  endif()
endfunction()

# hearth_test(NAME SOURCES ... ROOMS ... LIBRARIES ... [LABEL group]): one GoogleTest program, each
# case a ctest. LABEL is the group of ./test that runs it; unit where it says nothing.
function(hearth_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_ROOMS PREPEND hearth_)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_ROOMS} ${ARG_LIBRARIES} GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM hearth_pch)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 LABELS ${ARG_LABEL})
endfunction()

# hearth_power_loss(NAME): the power-loss cases of the test program NAME once more in the group
# `crash`, with all the points that its bar asks for (the group `unit` looks at fewer).
function(hearth_power_loss name)
  if(HEARTH_TESTS)
    include(GoogleTest)
    gtest_discover_tests(${name} TEST_FILTER "*PowerLoss*" TEST_PREFIX "crash/" DISCOVERY_MODE PRE_TEST
                         DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 900 LABELS crash
                         ENVIRONMENT HEARTH_CRASH_POINTS=300)
  endif()
endfunction()

# hearth_fuzz(NAME SOURCES ... ROOMS ...): a libFuzzer program build/PRESET/fuzz/NAME, which
# tests/fuzz/run finds there. Its seeds are the files of tests/fuzz/seeds/NAME, where there are any.
function(hearth_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_ROOMS PREPEND hearth_)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_ROOMS} ${ARG_LIBRARIES})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endfunction()
