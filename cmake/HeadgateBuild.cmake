# Settings and helper functions that every room's CMakeLists.txt uses.

option(HEADGATE_TESTS "Build the tests, benchmarks and the demo too" ON)
option(HEADGATE_PRECOMPILE "Read the libraries' headers once for all rooms, instead of once for each" OFF)
option(HEADGATE_LIBFUZZER "Link fuzzers with libFuzzer instead of the replay driver (clang only)" OFF)
set(HEADGATE_SANITIZE "" CACHE STRING "Sanitizers for all code, as -fsanitize= takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Linking takes far more memory than compiling.
set_property(GLOBAL PROPERTY JOB_POOLS heavy=2)
set(CMAKE_JOB_POOL_LINK heavy)

find_program(HEADGATE_CCACHE ccache)
if(HEADGATE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What was compiled before is told by its content: without this, ccache keeps nothing that reads precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${HEADGATE_CCACHE}")
endif()

# What all of Headgate's own code is compiled with. Libraries from the
# distribution are imported targets, hence SYSTEM: their headers do not warn.
add_library(headgate_options INTERFACE)
target_include_directories(headgate_options INTERFACE "${PROJECT_SOURCE_DIR}")
# GCC's full -Wshadow also objects to scoped enumerators named like a constant outside.
target_compile_options(headgate_options INTERFACE -Wall -Wextra -Wconversion -Werror
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
if(HEADGATE_SANITIZE)
  set(flags "-fsanitize=${HEADGATE_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${flags})
  add_link_options(${flags})
endif()
if(HEADGATE_LIBFUZZER)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HEADGATE_LIBFUZZER takes clang: -DCMAKE_CXX_COMPILER=clang++-14")
  endif()
  target_compile_options(headgate_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What takes longest to read. A room still includes all that it uses: the presets without this hold it to that.
# There is one for rooms that speak gRPC and one for those that do not even link it, and the same for tests, which are
# compiled otherwise.
set(plain_headers <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <random> <string> <thread>
  <variant> <vector> <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h>
  <absl/strings/str_format.h> <absl/time/time.h>)
set(rpc_headers <google/protobuf/message.h> <grpcpp/grpcpp.h>)

# headgate_precompile(<kind> <header>...): what headgate_use_precompiled then takes for that kind.
function(headgate_precompile kind)
  set(source "${PROJECT_BINARY_DIR}/precompiled/${kind}.cc")
  file(GENERATE OUTPUT "${source}" CONTENT "")
  add_library(headgate_precompiled_${kind} OBJECT "${source}")
  target_precompile_headers(headgate_precompiled_${kind} PRIVATE ${ARGN})
  # Who reads them has to be compiled as they were, and gRPC's own users are compiled with this.
  target_compile_options(headgate_precompiled_${kind} PRIVATE -pthread)
endfunction()

if(HEADGATE_PRECOMPILE)
  headgate_precompile(plain ${plain_headers})
  headgate_precompile(rpc ${plain_headers} ${rpc_headers})
endif()

# headgate_kind_of(<variable> <target>...): rpc where one of these links gRPC, by whatever way; else plain.
function(headgate_kind_of variable)
  set(kind plain)
  foreach(target IN LISTS ARGN)
    string(REGEX REPLACE "^\\$<[A-Z_]+:(.*)>$" "\\1" target "${target}")  # linked, but not handed on
    if(target MATCHES "^gRPC::")
      set(kind rpc)
    elseif(target MATCHES "^headgate_" AND TARGET ${target})
      get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
      if(links)
        headgate_kind_of(kind ${links})
      endif()
    endif()
    if(kind STREQUAL "rpc")
      break()
    endif()
  endforeach()
  set(${variable} ${kind} PARENT_SCOPE)
endfunction()

# headgate_use_precompiled(<target> [<prefix>]): reads these headers as they were compiled, where the option says so.
function(headgate_use_precompiled target)
  if(HEADGATE_PRECOMPILE)
    get_target_property(links ${target} LINK_LIBRARIES)
    headgate_kind_of(kind ${links})
    target_precompile_headers(${target} REUSE_FROM headgate_precompiled_${ARGN}${kind})
    # GCC forgets which of these headers are the system's, and is wrong about what it inlines from them.
    target_compile_options(${target} PRIVATE -pthread
      $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds$<SEMICOLON>-Wno-stringop-overflow$<SEMICOLON>-Wno-restrict>)
  endif()
endfunction()

# headgate_library(<target> <dependency>...): a static library of every .cc file
# in the current folder.
function(headgate_library target)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  if(sources)
    add_library(${target} STATIC ${sources})
    # Whoever installs a room does not install our warnings.
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:headgate_options> ${ARGN})
    headgate_use_precompiled(${target})
  else()  # headers only
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE headgate_options ${ARGN})
  endif()
endfunction()

# headgate_compile_quickly(<target>): without optimisation, in each preset. What a test does itself is
# little, and its matchers are most of what there is to compile; what it tests stays as the preset has it.
function(headgate_compile_quickly target)
  target_compile_options(${target} PRIVATE -O0)
endfunction()

# headgate_tests(<room> <dependency>...): one gtest executable, headgate_<room>_tests, of every .cc file
# in the current folder and those below it.
function(headgate_tests room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")  # of a program that a test starts
  add_executable(headgate_${room}_tests ${sources})
  target_link_libraries(headgate_${room}_tests PRIVATE headgate_testing ${ARGN} GTest::gmock_main)
  headgate_compile_quickly(headgate_${room}_tests)
  headgate_use_precompiled(headgate_${room}_tests tests_)
endfunction()
