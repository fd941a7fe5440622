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
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${arg_LINKS})
  # PRIVATE would leave a trace of it in the installed target, since a static library passes on what it links.
  set_property(TARGET ${name} APPEND PROPERTY LINK_LIBRARIES marpc_warnings)
endfunction()
