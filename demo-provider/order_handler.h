// demo.OrderService. Every process keeps orders of its own.
#ifndef DEMO_PROVIDER_ORDER_HANDLER_H_
#define DEMO_PROVIDER_ORDER_HANDLER_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "demo/order.marpc.h"

namespace demo {

class OrderHandler final : public OrderServiceHandler {
 public:
  OrderHandler();

  absl::Status ListByUser(marpc::ServerCall& call, const ListByUserRequest& request,
                          OrderList* reply) override;
  // NotFound for a user that does not exist, InvalidArgument for an order of nothing.
  absl::Status Create(marpc::ServerCall& call, const CreateOrderRequest& request,
                      Order* reply) override;

 private:
  const Order& Add(const CreateOrderRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::vector<Order> orders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace demo

#endif  // DEMO_PROVIDER_ORDER_HANDLER_H_
