// The people that the demo's services know.
#ifndef DEMO_PROVIDER_USERS_H_
#define DEMO_PROVIDER_USERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "demo/user.pb.h"

namespace demo {

// Alice, Bob and Carol.
const std::vector<User>& AllUsers();

// NotFound names the id and those that exist.
absl::StatusOr<User> FindUser(int64_t id);

}  // namespace demo

#endif  // DEMO_PROVIDER_USERS_H_
