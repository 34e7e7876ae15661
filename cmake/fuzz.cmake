# What the fuzzers of both native cores have in common, which are projects of their own: included after project().
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "libFuzzer comes with clang: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -gline-tables-only")  # half the time of a whole build
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)  # headers are read, and templates made, once

# A core built anew, with the sanitizers and libFuzzer's coverage in it.
function(csaud_fuzzed_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PUBLIC -Wall -Wextra -fsanitize=fuzzer-no-link,address,undefined
                                        -fno-sanitize-recover=all)
endfunction()

# The fuzzer fuzz_NAME, of fuzz_NAME.cpp, and the folder of its corpus.
function(csaud_fuzzer name library)
  add_executable(fuzz_${name} fuzz_${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE ${library})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/corpus-${name})
endfunction()
