# The libraries marpc stands on, all from Debian's packages. Used by the build and, installed, by find_package(marpc).
find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)

# The ZooKeeper C client ships no CMake file.
if(NOT TARGET marpc::zookeeper_c)
  find_path(MARPC_ZOOKEEPER_INCLUDE_DIR zookeeper/zookeeper.h)
  find_library(MARPC_ZOOKEEPER_LIBRARY zookeeper_mt)
  if(NOT MARPC_ZOOKEEPER_INCLUDE_DIR OR NOT MARPC_ZOOKEEPER_LIBRARY)
    message(FATAL_ERROR "marpc needs the multi-threaded ZooKeeper C client (Debian: libzookeeper-mt-dev)")
  endif()
  add_library(marpc::zookeeper_c UNKNOWN IMPORTED)
  set_target_properties(
    marpc::zookeeper_c
    PROPERTIES IMPORTED_LOCATION "${MARPC_ZOOKEEPER_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                              "${MARPC_ZOOKEEPER_INCLUDE_DIR}")
endif()
