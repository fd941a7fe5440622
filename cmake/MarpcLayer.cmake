# marpc_add_layer(<name> IDEAS <folder>... LINKS <target>...): a library of the folders named, relative to the calling
# CMakeLists.txt. What a layer may use is what it links.
function(marpc_add_layer name)
  cmake_parse_arguments(arg "" "" "IDEAS;LINKS" ${ARGN})
  set(sources)
  foreach(idea IN LISTS arg_IDEAS)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${idea}/*.cc" "${CMAKE_CURRENT_SOURCE_DIR}/${idea}/*.h")
    list(APPEND sources ${found})
  endforeach()
  add_library(${name} STATIC ${sources})
  string(REPLACE "marpc_" "" short ${name})
  add_library(marpc::${short} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${MARPC_INCLUDE_ROOT}>"
                                            "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE $<BUILD_INTERFACE:marpc_warnings>)
endfunction()
