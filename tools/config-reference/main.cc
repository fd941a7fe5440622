// Prints docs/configuration.md: config_reference > docs/configuration.md
#include <iostream>

#include "marpc/config/reference.h"

int main() { std::cout << marpc::ConfigReference(); }
