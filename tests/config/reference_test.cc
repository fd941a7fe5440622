#include "marpc/config/reference.h"

#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(ConfigReference, IsWhatTheDocumentationHolds) {
  std::ifstream in(std::string(MARPC_SOURCE_DIR) + "/docs/configuration.md");
  ASSERT_TRUE(in.is_open());
  std::stringstream page;
  page << in.rdbuf();
  // Not EXPECT_EQ: two pages in full would hide the way out.
  EXPECT_TRUE(page.str() == ConfigReference())
      << "docs/configuration.md is out of date; renew it from the top of the tree with\n"
         "  cmake --build --preset dev --target config_reference && "
         "build/dev/tools/config_reference > docs/configuration.md";
}

}  // namespace
}  // namespace marpc
