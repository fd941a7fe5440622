# marpc_generate(TARGET <target> PROTOS <file>... [IMPORT_DIRS <dir>...] [GRPC|NO_GRPC])
#
# Adds the static library <target> with what protoc, the stock gRPC plugin and protoc-gen-marpc write for each file:
#
#   marpc_generate(TARGET hello_proto PROTOS protos/demo/hello.proto IMPORT_DIRS protos)
#   target_link_libraries(my_provider PRIVATE hello_proto)     # #include "demo/hello.marpc.h"
#
# PROTOS       relative to the current source folder or to one of IMPORT_DIRS
# IMPORT_DIRS  where imports are looked for; the path of a file below one of them is its path in #include. Default: the
#              current source folder. marpc's own files (marpc/options.proto) and protobuf's are always found.
# NO_GRPC      leaves out x.grpc.pb.h; GRPC, the default, writes it.
#
# Code is written anew when a file, anything it imports, or a plugin changes.
include_guard(GLOBAL)

function(marpc_generate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GRPC;NO_GRPC" "TARGET" "PROTOS;IMPORT_DIRS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "marpc_generate: unknown argument \"${arg_UNPARSED_ARGUMENTS}\"; it takes TARGET, PROTOS, "
                        "IMPORT_DIRS, GRPC, NO_GRPC")
  endif()
  if(NOT arg_TARGET OR NOT arg_PROTOS)
    message(FATAL_ERROR "marpc_generate: TARGET and PROTOS are needed")
  endif()
  if(arg_GRPC AND arg_NO_GRPC)
    message(FATAL_ERROR "marpc_generate(TARGET ${arg_TARGET}): GRPC and NO_GRPC exclude each other")
  endif()
  set(grpc YES)
  if(arg_NO_GRPC)
    set(grpc NO)
  endif()

  set(import_dirs)
  foreach(dir IN LISTS arg_IMPORT_DIRS)
    cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT IS_DIRECTORY "${dir}")
      message(FATAL_ERROR "marpc_generate(TARGET ${arg_TARGET}): IMPORT_DIRS names ${dir}, which is no folder")
    endif()
    list(APPEND import_dirs "${dir}")
  endforeach()
  if(NOT import_dirs)
    set(import_dirs "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()

  set(out_dir "${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.gen")
  set(sources)
  foreach(proto IN LISTS arg_PROTOS)
    _marpc_locate_proto("${arg_TARGET}" "${proto}" "${import_dirs}" file name)
    _marpc_run_protoc("${file}" "${name}" "${import_dirs}" "${out_dir}" ${grpc} written)
    list(APPEND sources ${written})
  endforeach()
  add_library(${arg_TARGET} STATIC ${sources})
  # SYSTEM: warnings in generated headers are not the user's to mend.
  target_include_directories(${arg_TARGET} SYSTEM PUBLIC "${out_dir}")
  target_compile_features(${arg_TARGET} PUBLIC cxx_std_20)
  target_link_libraries(${arg_TARGET} PUBLIC marpc::core marpc::proto protobuf::libprotobuf)
  if(grpc)
    target_link_libraries(${arg_TARGET} PUBLIC gRPC::grpc++)
  endif()
endfunction()

# Finds a file of PROTOS; `name` is its path as protoc and #include know it.
function(_marpc_locate_proto target proto import_dirs file_out name_out)
  set(found)
  set(bases "${CMAKE_CURRENT_SOURCE_DIR}" ${import_dirs})
  foreach(base IN LISTS bases)
    cmake_path(ABSOLUTE_PATH proto BASE_DIRECTORY "${base}" NORMALIZE OUTPUT_VARIABLE candidate)
    if(EXISTS "${candidate}")
      set(found "${candidate}")
      break()
    endif()
  endforeach()
  if(NOT found)
    list(JOIN import_dirs ", " where)
    message(FATAL_ERROR "marpc_generate(TARGET ${target}): no file ${proto} in ${CMAKE_CURRENT_SOURCE_DIR}, ${where}")
  endif()
  if(NOT found MATCHES "\\.proto$")
    message(FATAL_ERROR "marpc_generate(TARGET ${target}): ${proto} does not end in .proto")
  endif()
  foreach(dir IN LISTS import_dirs)
    cmake_path(IS_PREFIX dir "${found}" NORMALIZE below)
    if(below)
      cmake_path(RELATIVE_PATH found BASE_DIRECTORY "${dir}" OUTPUT_VARIABLE name)
      set(${file_out} "${found}" PARENT_SCOPE)
      set(${name_out} "${name}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN import_dirs ", " where)
  message(FATAL_ERROR "marpc_generate(TARGET ${target}): ${found} is in none of the import folders (${where}); "
                      "add its folder to IMPORT_DIRS")
endfunction()

# The command for one file; `sources_out` gets what it writes.
function(_marpc_run_protoc file name import_dirs out_dir grpc sources_out)
  string(REGEX REPLACE "\\.proto$" "" stem "${out_dir}/${name}")
  set(outputs "${stem}.pb.h" "${stem}.pb.cc" "${stem}.marpc.h" "${stem}.marpc.cc")
  set(plugins "--plugin=protoc-gen-marpc=$<TARGET_FILE:marpc::protoc-gen-marpc>" "--marpc_out=${out_dir}")
  set(plugin_files marpc::protoc-gen-marpc)
  if(grpc)
    list(APPEND outputs "${stem}.grpc.pb.h" "${stem}.grpc.pb.cc")
    list(APPEND plugins "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>" "--grpc_out=${out_dir}")
    list(APPEND plugin_files gRPC::grpc_cpp_plugin)
  endif()
  # Ninja wants the first output first in the depfile too, and protoc sorts there.
  list(SORT outputs)
  list(TRANSFORM import_dirs PREPEND "-I" OUTPUT_VARIABLE imports)
  cmake_path(GET stem PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND protobuf::protoc ${imports} "-I${MARPC_PROTO_DIR}" "--cpp_out=${out_dir}" ${plugins}
            "--dependency_out=${stem}.d" "${file}"
    DEPENDS "${file}" ${plugin_files}
    DEPFILE "${stem}.d"
    COMMENT "Generating code from ${name}"
    VERBATIM)
  set(${sources_out} ${outputs} PARENT_SCOPE)
endfunction()

# Where marpc/options.proto is. An installed marpc sets it in marpcConfig.cmake.
if(NOT MARPC_PROTO_DIR)
  cmake_path(SET MARPC_PROTO_DIR NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../proto")
endif()
