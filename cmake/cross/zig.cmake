# Toolchain: zig (the `ziglang` package of the Python registry) as a cross compiler for every platform with
# wheels. SCRUBJAY_TARGET is zig's name of the platform: x86_64-linux-gnu.2.28, aarch64-linux-gnu.2.28,
# x86_64-linux-musl, aarch64-linux-musl, x86_64-windows-gnu, aarch64-macos. zig's own libc++ is linked
# statically, so that a wheel needs only the C library, whose minimum version is part of the name. Called by
# cmake/cross/build.py.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SCRUBJAY_TARGET SCRUBJAY_ZIG)
if(NOT SCRUBJAY_TARGET OR NOT SCRUBJAY_ZIG)
  message(FATAL_ERROR "cmake/cross/zig.cmake: expected -DSCRUBJAY_TARGET=<zig target> and -DSCRUBJAY_ZIG=<path of zig>")
endif()

string(REGEX REPLACE "^([^-]+)-.*" "\\1" CMAKE_SYSTEM_PROCESSOR "${SCRUBJAY_TARGET}")
if(SCRUBJAY_TARGET MATCHES "-windows")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(SCRUBJAY_TARGET MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()

set(CMAKE_C_COMPILER "${SCRUBJAY_ZIG}" cc -target "${SCRUBJAY_TARGET}")
set(CMAKE_CXX_COMPILER "${SCRUBJAY_ZIG}" c++ -target "${SCRUBJAY_TARGET}")
# zig instruments builds that it considers debug builds; we have our own sanitizer presets.
set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined")
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=undefined")
# zig's archiver is a subcommand, for which CMake has no variable, and its rules for Windows cannot be
# replaced: hence two scripts.
foreach(tool IN ITEMS ar ranlib)
  string(TOUPPER "${tool}" variable)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/zig-${tool}" CONTENT "#!/bin/sh\nexec '${SCRUBJAY_ZIG}' ${tool} \"$@\"\n")
  file(CHMOD "${CMAKE_BINARY_DIR}/zig-${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(CMAKE_${variable} "${CMAKE_BINARY_DIR}/zig-${tool}" CACHE FILEPATH "" FORCE)
endforeach()
# The linker omits symbols, because zig has no strip. For debugging, build natively.
set(CMAKE_STRIP "" CACHE FILEPATH "" FORCE)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
endif()
# zig caches compiled objects itself; a compiler cache in front of it takes its first argument for a file.
foreach(cache IN ITEMS sccache ccache)
  set(SCRUBJAY_${cache} OFF CACHE STRING "" FORCE)
endforeach()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# The build interpreter stands in for that of the platform: it has the same version and thus the same headers,
# and no emulation is needed to query it. The module's suffix comes from the build backend
# (SETUPTOOLS_EXT_SUFFIX), not from the interpreter.
set(CMAKE_CROSSCOMPILING_EMULATOR env)
set(PYBIND11_USE_CROSSCOMPILING ON CACHE BOOL "" FORCE)
