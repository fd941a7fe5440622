#include "demo-provider/users.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace demo {
namespace {

User MakeUser(int64_t id, const char* name, int age) {
  User user;
  user.set_id(id);
  user.set_name(name);
  user.set_age(age);
  return user;
}

}  // namespace

const std::vector<User>& AllUsers() {
  static const auto* const users = new std::vector<User>{
      MakeUser(1, "Alice", 30), MakeUser(2, "Bob", 25), MakeUser(3, "Carol", 41)};
  return *users;
}

absl::StatusOr<User> FindUser(int64_t id) {
  for (const User& user : AllUsers()) {
    if (user.id() == id) return user;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no user ", id, "; there are 1 to ", AllUsers().size()));
}

}  // namespace demo
