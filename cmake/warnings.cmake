# Warnings are errors with the compilers that the project is developed with, Debian 12's; a newer one warns of more, and
# who only wants to run it should not have to read that.
set(developed_with OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
   OR (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  set(developed_with ON)
endif()
option(CSAUD_WERROR "warnings are errors" ${developed_with})
