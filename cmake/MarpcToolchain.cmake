# Compiler, warnings, sanitizers and ccache: what every target of the tree is built with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(MARPC_CCACHE ccache)
if(MARPC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${MARPC_CCACHE}")
endif()

# Links our own targets only: warnings of generated code and of other people's headers are not ours to mend.
add_library(marpc_warnings INTERFACE)
target_compile_options(marpc_warnings INTERFACE -Wall -Wextra -Werror)

if(MARPC_SANITIZE)
  add_compile_options(-fsanitize=${MARPC_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MARPC_SANITIZE})
  # gcc 12 loses track of initialisation in sanitized code, and finds fault with its own <regex>.
  target_compile_options(marpc_warnings INTERFACE -Wno-maybe-uninitialized)
  if(MARPC_SANITIZE MATCHES "undefined")
    # A report that does not fail the test would go unread.
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
