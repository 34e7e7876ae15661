# csaud_softswitch._core
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(csaud_softswitch_core NB_STATIC NOMINSIZE
  bindings/module.cpp bindings/adopt.cpp bindings/control.cpp bindings/convert.cpp bindings/describe.cpp
  bindings/state.cpp bindings/tap.cpp)
set_target_properties(csaud_softswitch_core PROPERTIES OUTPUT_NAME _core)
target_compile_options(csaud_softswitch_core PRIVATE -Wall -Wextra)  # nanobind's headers shadow names
if(CSAUD_WERROR)
  target_compile_options(csaud_softswitch_core PRIVATE -Werror)
endif()
target_link_libraries(csaud_softswitch_core PRIVATE csaud_switch_io)
if(CSAUD_INPLACE)
  set_target_properties(csaud_softswitch_core PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/../csaud_softswitch)
endif()
install(TARGETS csaud_softswitch_core LIBRARY DESTINATION csaud_softswitch)
