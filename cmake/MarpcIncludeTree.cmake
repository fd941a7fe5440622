# Users write #include "marpc/consumer/consumer.h", in the tree and against an installed marpc alike. In the tree, the
# path comes from links below the build folder: marpc/<idea> -> core/<idea>, marpc/registry -> registry.
set(MARPC_INCLUDE_ROOT "${PROJECT_BINARY_DIR}/include")
set(MARPC_PROTO_ROOT "${PROJECT_BINARY_DIR}/gen")
file(MAKE_DIRECTORY "${MARPC_INCLUDE_ROOT}/marpc" "${MARPC_PROTO_ROOT}")
file(GLOB marpc_ideas LIST_DIRECTORIES true CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/*")
foreach(idea IN LISTS marpc_ideas)
  get_filename_component(name "${idea}" NAME)
  if(IS_DIRECTORY "${idea}" OR name MATCHES "\\.h$")
    file(CREATE_LINK "${idea}" "${MARPC_INCLUDE_ROOT}/marpc/${name}" SYMBOLIC)
  endif()
endforeach()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/registry" "${MARPC_INCLUDE_ROOT}/marpc/registry" SYMBOLIC)
