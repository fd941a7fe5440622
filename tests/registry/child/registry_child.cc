// A provider process without a server, for tests that kill one: enters an endpoint, says
// "registered", and goes on until its input ends; the line "release" makes it take the entry away
// first.
//
//   registry_child <registry address> <service> <endpoint>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>

#include "marpc/registry/registry.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  marpc::Settings settings;
  settings.registry.address = argv[1];
  settings.registry.session_timeout = absl::Seconds(2);
  auto registry = marpc::OpenRegistry(settings);
  if (!registry.ok()) {
    std::cerr << registry.status() << "\n";
    return 1;
  }
  marpc::Instance instance;
  instance.endpoint = *marpc::Endpoint::Parse(argv[3]);
  auto lease = (*registry)->Register(argv[2], instance);
  if (!lease.ok()) {
    std::cerr << lease.status() << "\n";
    return 1;
  }
  while (!(*lease)->registered()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::cout << "registered" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "release") {
      std::cout << ((*lease)->Release(absl::Seconds(10)).ok() ? "released" : "failed") << std::endl;
    }
  }
  return 0;
}
