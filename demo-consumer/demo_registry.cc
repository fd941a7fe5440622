#include "demo-consumer/demo_registry.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "demo-consumer/zookeeper_process.h"

namespace demo {
namespace {

namespace fs = std::filesystem;

absl::Status ToStatus(const std::error_code& error, const std::string& what) {
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), what);
}

class FileRegistry final : public DemoRegistry {
 public:
  explicit FileRegistry(const std::string& parent) : folder_(parent + "/registry") {}

  std::string address() const override { return "file:" + folder_; }
  std::string breaks_by() const override { return "its folder is renamed away"; }

  absl::Status Break() override {
    std::error_code error;
    fs::rename(folder_, folder_ + ".away", error);
    return ToStatus(error, absl::StrCat("cannot rename ", folder_));
  }
  absl::Status ReturnEmpty() override {
    std::error_code error;
    fs::remove_all(folder_ + ".away", error);
    if (!error) fs::create_directory(folder_, error);
    return ToStatus(error, absl::StrCat("cannot make ", folder_, " anew"));
  }

 private:
  const std::string folder_;
};

class ZookeeperRegistry final : public DemoRegistry {
 public:
  explicit ZookeeperRegistry(const std::string& parent) : server_(parent + "/zookeeper") {}

  absl::Status Start() { return server_.Start(); }

  std::string address() const override {
    return absl::StrCat("zookeeper://127.0.0.1:", server_.port(), "/demo");
  }
  std::string breaks_by() const override { return "its server is killed with SIGKILL"; }
  absl::Status Break() override {
    server_.Kill();
    return absl::OkStatus();
  }
  absl::Status ReturnEmpty() override {
    if (absl::Status wiped = server_.WipeDisk(); !wiped.ok()) return wiped;
    return server_.Start();
  }

 private:
  ZookeeperProcess server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DemoRegistry>> StartDemoRegistry(absl::string_view kind,
                                                                const std::string& folder) {
  if (kind == "file") return std::make_unique<FileRegistry>(folder);
  if (kind != "zookeeper") {
    return absl::InvalidArgumentError(
        absl::StrCat("no registry '", kind, "'; there are file and zookeeper"));
  }
  auto registry = std::make_unique<ZookeeperRegistry>(folder);
  if (absl::Status started = registry->Start(); !started.ok()) return started;
  return registry;
}

}  // namespace demo
