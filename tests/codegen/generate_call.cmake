# cmake "-DCALL=<arguments of marpc_generate>" -P generate_call.cmake, run in a folder that has protos/codegen/.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/MarpcGenerate.cmake")
marpc_generate(${CALL})
