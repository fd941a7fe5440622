# The libraries marpc stands on, all from Debian's packages. Used by the build and, installed, by find_package(marpc).
set(marpc_dependencies
    "Threads"
    "absl CONFIG"
    "Protobuf"
    "gRPC CONFIG"
    "yaml-cpp CONFIG"
    "spdlog CONFIG"
    "OpenSSL"
    "CURL")

if(CMAKE_FIND_PACKAGE_NAME STREQUAL "marpc")
  # Whoever asks for marpc decides whether something missing is an error.
  include(CMakeFindDependencyMacro)
  foreach(dependency IN LISTS marpc_dependencies)
    separate_arguments(dependency UNIX_COMMAND "${dependency}")
    find_dependency(${dependency})
  endforeach()
else()
  foreach(dependency IN LISTS marpc_dependencies)
    separate_arguments(dependency UNIX_COMMAND "${dependency}")
    find_package(${dependency} REQUIRED)
  endforeach()
endif()

# The ZooKeeper C client ships no CMake file.
if(NOT TARGET marpc::zookeeper_c)
  find_path(MARPC_ZOOKEEPER_INCLUDE_DIR zookeeper/zookeeper.h)
  find_library(MARPC_ZOOKEEPER_LIBRARY zookeeper_mt)
  mark_as_advanced(MARPC_ZOOKEEPER_INCLUDE_DIR MARPC_ZOOKEEPER_LIBRARY)
  if(MARPC_ZOOKEEPER_INCLUDE_DIR AND MARPC_ZOOKEEPER_LIBRARY)
    add_library(marpc::zookeeper_c UNKNOWN IMPORTED)
    set_target_properties(
      marpc::zookeeper_c
      PROPERTIES IMPORTED_LOCATION "${MARPC_ZOOKEEPER_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                "${MARPC_ZOOKEEPER_INCLUDE_DIR}")
  else()
    set(missing "marpc needs the multi-threaded ZooKeeper C client (Debian: libzookeeper-mt-dev)")
    if(CMAKE_FIND_PACKAGE_NAME STREQUAL "marpc")
      set(marpc_FOUND FALSE)
      set(marpc_NOT_FOUND_MESSAGE "${missing}")
    else()
      message(FATAL_ERROR "${missing}")
    endif()
  endif()
endif()
