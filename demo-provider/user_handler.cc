#include "demo-provider/user_handler.h"

#include <utility>

#include "demo-provider/users.h"

namespace demo {

absl::Status UserHandler::Get(marpc::ServerCall&, const UserId& request, User* reply) {
  absl::StatusOr<User> user = FindUser(request.id());
  if (user.ok()) *reply = *std::move(user);
  return user.status();
}

absl::Status UserHandler::List(marpc::ServerCall&, const google::protobuf::Empty&,
                               UserList* reply) {
  for (const User& user : AllUsers()) *reply->add_users() = user;
  return absl::OkStatus();
}

absl::Status UserHandler::Exists(marpc::ServerCall&, const UserId& request, UserExists* reply) {
  reply->set_exists(FindUser(request.id()).ok());
  return absl::OkStatus();
}

absl::Status UserHandler::Context(marpc::ServerCall& call, const google::protobuf::Empty&,
                                  UserContext* reply) {
  for (const auto& [key, value] : call.context().entries()) {
    (*reply->mutable_entries())[key] = value;
  }
  return absl::OkStatus();
}

}  // namespace demo
