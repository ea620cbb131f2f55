# Sources of third-party code, in this order for each NAME in cmake/third_party.json:
#   1. <NAME>_SOURCE_DIR (CMake or environment variable): an unpacked tree, used as it is;
#   2. third_party/ of our own source distribution (never committed);
#   3. a directory of archives: SCRUBJAY_ARCHIVE_DIR (CMake or environment), by default a cache directory of
#      the user;
#   4. pip, which honours the user's index, mirror and proxy settings; its downloads go to the archive
#      directory.
# Archives are pinned by SHA-256; a wrong hash stops the build. cmake/third_party.py performs steps 2 to 4.
set(third_party_script "${CMAKE_CURRENT_SOURCE_DIR}/cmake/third_party.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/third_party.json)

set(third_party_archives "")
if(SCRUBJAY_ARCHIVE_DIR)
  set(third_party_archives --archives "${SCRUBJAY_ARCHIVE_DIR}")
endif()

function(scrubjay_unpack_third_party)
  set(missing "")
  set(unpacked "${CMAKE_BINARY_DIR}/third_party")
  foreach(name IN LISTS ARGN)
    if(NOT ${name}_SOURCE_DIR AND DEFINED ENV{${name}_SOURCE_DIR})
      set(${name}_SOURCE_DIR "$ENV{${name}_SOURCE_DIR}")
    endif()
    if(NOT ${name}_SOURCE_DIR)
      list(APPEND missing "${name}")
      set(${name}_SOURCE_DIR "${unpacked}/${name}")
    endif()
    set(${name}_SOURCE_DIR "${${name}_SOURCE_DIR}" PARENT_SCOPE)
  endforeach()
  if(missing)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" "${third_party_script}" unpack ${third_party_archives} --to "${unpacked}" ${missing}
      RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "third-party sources: ${output}")
    elseif(output)
      message(STATUS "third-party sources: ${output}")
    endif()
  endif()
endfunction()

# Copies the archives to third_party/, for our own source distribution.
function(scrubjay_carry_third_party)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" "${third_party_script}" carry ${third_party_archives}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "third-party sources: ${output}")
  endif()
endfunction()

if(NOT "${SKBUILD_STATE}" STREQUAL "sdist")
  scrubjay_unpack_third_party(CROARING STRINGZILLA SNOWBALL)

  add_library(scrubjay_stringzilla INTERFACE)
  target_include_directories(scrubjay_stringzilla SYSTEM INTERFACE "${STRINGZILLA_SOURCE_DIR}/include")
endif()
