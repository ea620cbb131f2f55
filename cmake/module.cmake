# The Python module scrubjay._native: cpp/bindings/*.cpp over the core.
if(NOT pybind11_DIR)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(pybind11_hint)
    set(pybind11_ROOT "${pybind11_hint}")
  endif()
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 3.0 CONFIG REQUIRED)

file(GLOB binding_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cpp/bindings/*.cpp")
if(binding_sources)
  # NO_EXTRAS: pybind11 would enable link-time optimisation (see compiler.cmake).
  pybind11_add_module(_native MODULE NO_EXTRAS ${binding_sources})
  target_link_libraries(_native PRIVATE scrubjay_core)
  if(SCRUBJAY_UNITY)
    # One translation unit: reading and instantiating pybind11 is most of the work. The unnamed namespaces of
    # cpp/bindings therefore share their names.
    set_target_properties(_native PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  else()
    # One object per file, for developers: a change recompiles only its file. pybind11 is precompiled, even
    # under a compiler cache.
    target_precompile_headers(_native PRIVATE
      <pybind11/numpy.h> <pybind11/pybind11.h> <pybind11/stl.h> <pybind11/typing.h>)
  endif()
  install(TARGETS _native LIBRARY DESTINATION scrubjay RUNTIME DESTINATION scrubjay)
else()
  message(STATUS "cpp/bindings holds no .cpp file: no Python module")
endif()
