// demo.UserService.
#ifndef DEMO_PROVIDER_USER_HANDLER_H_
#define DEMO_PROVIDER_USER_HANDLER_H_

#include "demo/user.marpc.h"

namespace demo {

class UserHandler final : public UserServiceHandler {
 public:
  absl::Status Get(marpc::ServerCall& call, const UserId& request, User* reply) override;
  absl::Status List(marpc::ServerCall& call, const google::protobuf::Empty& request,
                    UserList* reply) override;
  absl::Status Exists(marpc::ServerCall& call, const UserId& request, UserExists* reply) override;
  absl::Status Context(marpc::ServerCall& call, const google::protobuf::Empty& request,
                       UserContext* reply) override;
};

}  // namespace demo

#endif  // DEMO_PROVIDER_USER_HANDLER_H_
