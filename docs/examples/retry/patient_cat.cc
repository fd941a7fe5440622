// Retries without RPC: prints a file, and waits for it where it is not there yet.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/retry/retry.h"

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return absl::UnavailableError("cannot open " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "stock.txt";
  const absl::StatusOr<std::string> text =
      marpc::Retry::WhenStatus(absl::StatusCode::kUnavailable)
          .InSeconds(10)
          .Backoff(marpc::Backoff::Exponential(absl::Milliseconds(50), absl::Seconds(1)))
          .Named("read-file")
          .Call([&] { return ReadFile(path); });
  if (!text.ok()) {
    std::cerr << text.status().message() << "\n";
    return 1;
  }
  std::cout << *text;
  return 0;
}
