# Settings and helper functions that every room's CMakeLists.txt uses.

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
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HEADGATE_CCACHE}")
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

# headgate_library(<target> <dependency>...): a static library of every .cc file
# in the current folder.
function(headgate_library target)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  if(sources)
    add_library(${target} STATIC ${sources})
    # Whoever installs a room does not install our warnings.
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:headgate_options> ${ARGN})
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
endfunction()
