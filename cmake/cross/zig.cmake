# Toolchain: zig (the `ziglang` package of the Python registry) as a cross compiler for every platform that has wheels.
# SCRUBJAY_TARGET is zig's name of the platform: x86_64-linux-gnu.2.28, aarch64-linux-gnu.2.28, x86_64-linux-musl,
# aarch64-linux-musl, x86_64-windows-gnu, aarch64-macos. zig's own libc++ is linked statically, so that a wheel needs
# nothing but the C library, whose lowest version is a part of the name. cmake/cross/build.py is the caller.
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
# zig instruments what it takes for a debug build; ours has its own sanitizer presets.
set(CMAKE_C_FLAGS_INIT "-fno-sanitize=undefined")
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=undefined")
# usearch asks for <Windows.h>; mingw's header is windows.h, which only a file system that ignores case finds by that name.
if(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/windows/Windows.h" CONTENT "#include <windows.h>\n")
  set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/windows")
endif()
# zig's archiver is a subcommand, for which CMake has no variable, and its rules for Windows cannot be replaced: two scripts.
foreach(tool IN ITEMS ar ranlib)
  string(TOUPPER "${tool}" variable)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/zig-${tool}" CONTENT "#!/bin/sh\nexec '${SCRUBJAY_ZIG}' ${tool} \"$@\"\n")
  file(CHMOD "${CMAKE_BINARY_DIR}/zig-${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(CMAKE_${variable} "${CMAKE_BINARY_DIR}/zig-${tool}" CACHE FILEPATH "" FORCE)
endforeach()
# Symbols are left out by the linker, because zig has no strip. Debuggers' users build natively.
set(CMAKE_STRIP "" CACHE FILEPATH "" FORCE)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
endif()
# zig keeps compiled objects itself; a compiler cache before it takes its first argument for a file.
foreach(cache IN ITEMS sccache ccache)
  set(SCRUBJAY_${cache} OFF CACHE STRING "" FORCE)
endforeach()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# The interpreter that builds stands for the one of the platform: same version, so same headers, and it need not be
# emulated to be asked. The module's suffix comes from the build backend (SETUPTOOLS_EXT_SUFFIX), not from asking it.
set(CMAKE_CROSSCOMPILING_EMULATOR env)
set(PYBIND11_USE_CROSSCOMPILING ON CACHE BOOL "" FORCE)
