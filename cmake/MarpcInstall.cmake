# cmake --install: headers, .proto files, libraries, protoc-gen-marpc, and what find_package(marpc CONFIG) reads. Nothing
# installed holds an absolute path, so the folder may be moved.
include(CMakePackageConfigHelpers)
set(marpc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/marpc")

install(
  TARGETS marpc_proto marpc_base marpc_registry marpc_engine marpc_alert marpc_core protoc-gen-marpc
  EXPORT marpcTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

install(
  DIRECTORY core/
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/marpc"
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN codegen EXCLUDE)
install(
  DIRECTORY registry
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/marpc"
  FILES_MATCHING
  PATTERN "*.h")
install(
  DIRECTORY proto/marpc "${MARPC_PROTO_ROOT}/marpc"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING
  PATTERN "*.proto"
  PATTERN "*.pb.h")

install(EXPORT marpcTargets NAMESPACE marpc:: DESTINATION "${marpc_package_dir}")
configure_package_config_file(
  cmake/marpcConfig.cmake.in "${PROJECT_BINARY_DIR}/marpcConfig.cmake"
  INSTALL_DESTINATION "${marpc_package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0, another minor version may be incompatible.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/marpcConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/marpcConfig.cmake" "${PROJECT_BINARY_DIR}/marpcConfigVersion.cmake"
              cmake/MarpcDependencies.cmake cmake/MarpcGenerate.cmake
        DESTINATION "${marpc_package_dir}")
