# Compiler, linker and sanitizer settings shared by every room.
find_program(CCACHE ccache)
if(CCACHE)
  # pch_defines and time_macros: without them ccache refuses any file that uses the PCH.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Werror -Wno-gnu-statement-expression)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # -fno-pch-timestamp lets ccache reuse a PCH; limited debug info halves link time.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Xclang> $<$<COMPILE_LANGUAGE:CXX>:-fno-pch-timestamp>
                      -Wthread-safety)
else()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  # A room with macros of its own (a library's -D) reads the headers as text; g++ need not say so.
  set(CMAKE_PCH_WARN_INVALID OFF)
  # g++ 12 reports these inside its own headers when inlining std::variant and std::string, and a
  # dangling else inside the macros of GoogleTest.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-dangling-pointer -Wno-array-bounds
                      -Wno-stringop-overread -Wno-stringop-overflow -Wno-missing-field-initializers
                      -Wno-dangling-else)
endif()
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-missing-field-initializers>)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-g1)
endif()
if(HEARTH_SANITIZE)
  add_compile_options(-fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEARTH_SANITIZE})
endif()

# Libraries that Debian also has as archives become part of the program (yaml-cpp, Boost.JSON, RE2,
# SQLite, zstd): it starts a fifth sooner and asks less of a node; a mend of theirs needs a build.
# TLS, HTTP of strangers and archives (OpenSSL, libcurl, libarchive) stay Debian's to mend, with the
# zstd that they were built for: ours is not shown to them.
add_link_options(-Wl,--exclude-libs,libzstd.a)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# One precompiled header of the std headers nearly every file wants; nothing of ours is in it.
file(WRITE ${CMAKE_BINARY_DIR}/pch/pch.cc "")
file(WRITE ${CMAKE_BINARY_DIR}/pch/headers.h
     "#include \"${CMAKE_BINARY_DIR}/CMakeFiles/hearth_pch.dir/cmake_pch.hxx\"\n")
add_library(hearth_pch OBJECT ${CMAKE_BINARY_DIR}/pch/pch.cc)
target_precompile_headers(hearth_pch PRIVATE <algorithm> <array> <atomic> <chrono> <condition_variable>
  <cstdint> <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <unordered_map> <utility> <variant> <vector> <set> <deque> <fmt/format.h>)
find_package(fmt REQUIRED)
target_link_libraries(hearth_pch PRIVATE fmt::fmt)  # the same macros as those who reuse it
