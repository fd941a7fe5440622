#include "demo-provider/order_handler.h"

#include "demo-provider/users.h"

namespace demo {
namespace {

constexpr int64_t kFirstOrder = 101;

CreateOrderRequest Of(int64_t user, const char* item, int64_t cents) {
  CreateOrderRequest request;
  request.set_user_id(user);
  request.set_item(item);
  request.set_cents(cents);
  return request;
}

}  // namespace

OrderHandler::OrderHandler() {
  absl::MutexLock lock(&mutex_);
  Add(Of(1, "tea", 450));
  Add(Of(1, "teapot", 2900));
  Add(Of(2, "bicycle bell", 1250));
}

const Order& OrderHandler::Add(const CreateOrderRequest& request) {
  Order order;
  order.set_id(kFirstOrder + static_cast<int64_t>(orders_.size()));
  order.set_user_id(request.user_id());
  order.set_item(request.item());
  order.set_cents(request.cents());
  return orders_.emplace_back(std::move(order));
}

absl::Status OrderHandler::ListByUser(marpc::ServerCall&, const ListByUserRequest& request,
                                      OrderList* reply) {
  absl::MutexLock lock(&mutex_);
  for (const Order& order : orders_) {
    if (order.user_id() == request.user_id()) *reply->add_orders() = order;
  }
  return absl::OkStatus();
}

absl::Status OrderHandler::Create(marpc::ServerCall&, const CreateOrderRequest& request,
                                  Order* reply) {
  if (absl::Status known = FindUser(request.user_id()).status(); !known.ok()) return known;
  if (request.item().empty()) return absl::InvalidArgumentError("an order needs an item");
  absl::MutexLock lock(&mutex_);
  *reply = Add(request);
  return absl::OkStatus();
}

}  // namespace demo
