# csaud._core: bindings/module.cpp holds NB_MODULE and calls each bind_*().
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)
file(GLOB BINDING_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bindings/*.cpp)
nanobind_add_module(csaud_core_module NB_STATIC ${BINDING_SOURCES})
set_target_properties(csaud_core_module PROPERTIES OUTPUT_NAME _core)
target_include_directories(csaud_core_module PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/bindings)
# Warnings are for our own code, not for what its headers include.
target_include_directories(csaud_core_module SYSTEM PRIVATE ${NB_DIR}/include ${Python_INCLUDE_DIRS})
target_link_libraries(csaud_core_module PRIVATE csaud_host_core csaud_host_options)
foreach(part csaud_host_device csaud_host_perf)
  if(TARGET ${part})
    target_link_libraries(csaud_core_module PRIVATE ${part})
  endif()
endforeach()
if(CSAUD_INPLACE)
  set_target_properties(csaud_core_module PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/../csaud)
endif()
install(TARGETS csaud_core_module LIBRARY DESTINATION csaud)
