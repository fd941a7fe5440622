// Scene 2: messages and lists. Nested messages, repeated fields and a large list come back as the
// handlers made them; one consumer serves three services.
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "demo/order.marpc.h"
#include "demo/user.marpc.h"

namespace demo {
namespace {

constexpr int kLongList = 20'000;

int64_t AskHello(marpc::Consumer& consumer, Evidence& evidence) {
  const HelloServiceClient hello(consumer);
  GetUserRequest first;
  first.set_id(1);
  const absl::StatusOr<User> alice = hello.GetUser(first);
  if (evidence.ExpectOk(alice.status(), "GetUser")) {
    evidence.ExpectEqual(alice->name(), "Alice", "the name of user 1");
    evidence.ExpectEqual(alice->age(), 30, "the age of user 1");
  }
  ListRequest many;
  many.set_count(kLongList);
  const absl::StatusOr<ListReply> list = hello.List(many);
  if (!evidence.ExpectOk(list.status(), "List")) return 0;
  if (evidence.ExpectEqual(list->items_size(), kLongList, "the length of the list")) {
    evidence.ExpectEqual(list->items(kLongList - 1), absl::StrCat("item ", kLongList),
                         "the last of the list");
  }
  return static_cast<int64_t>(list->ByteSizeLong());
}

void AskUsers(marpc::Consumer& consumer, Evidence& evidence) {
  const UserServiceClient users(consumer);
  const absl::StatusOr<UserList> all = users.List({});
  if (evidence.ExpectOk(all.status(), "UserService.List")) {
    std::string names;
    for (const User& user : all->users()) absl::StrAppend(&names, user.name(), " ");
    evidence.ExpectEqual(names, "Alice Bob Carol ", "the list of users");
  }
  UserId bob;
  bob.set_id(2);
  const absl::StatusOr<User> got = users.Get(bob);
  if (evidence.ExpectOk(got.status(), "UserService.Get")) {
    evidence.ExpectEqual(got->name(), "Bob", "the name of user 2");
  }
  UserId nobody;
  nobody.set_id(99);
  const absl::StatusOr<UserExists> exists = users.Exists(nobody);
  if (evidence.ExpectOk(exists.status(), "UserService.Exists")) {
    evidence.Expect(!exists->exists(), "there is no user 99");
  }
}

void AskOrders(marpc::Consumer& consumer, Evidence& evidence) {
  const OrderServiceClient orders(consumer);
  ListByUserRequest of_alice;
  of_alice.set_user_id(1);
  const absl::StatusOr<OrderList> list = orders.ListByUser(of_alice);
  if (evidence.ExpectOk(list.status(), "OrderService.ListByUser") &&
      evidence.Expect(list->orders_size() >= 2, "Alice has two orders")) {
    evidence.ExpectEqual(list->orders(0).item(), "tea", "Alice's first order");
  }
  CreateOrderRequest lamp;
  lamp.set_user_id(3);
  lamp.set_item("reading lamp");
  lamp.set_cents(3900);
  const absl::StatusOr<Order> made = orders.Create(lamp);
  if (!evidence.ExpectOk(made.status(), "OrderService.Create")) return;
  evidence.ExpectEqual(made->item(), "reading lamp", "the item ordered");
  evidence.ExpectEqual(made->user_id(), 3, "who ordered");
  evidence.Expect(made->id() > 0, "the order has a number");
}

}  // namespace

absl::Status PlayMessages(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer("loadbalancer: random");
  if (!consumer.ok()) return consumer.status();
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();

  evidence.Measure("largest_answer_bytes", AskHello(**consumer, evidence));
  AskUsers(**consumer, evidence);
  AskOrders(**consumer, evidence);

  for (const char* method :
       {"GetUser", "List", "UserService/Get", "UserService/List", "UserService/Exists",
        "OrderService/ListByUser", "OrderService/Create"}) {
    const absl::StatusOr<int64_t> arrived = arrivals->TotalOf(method);
    if (!arrived.ok()) return arrived.status();
    evidence.ExpectEqual(*arrived, 1, absl::StrCat("the number of ", method, " that arrived"));
  }
  evidence.Measure("methods_called", 7);
  evidence.Summarise("3 services, 7 methods, each arrived once; a list of 20,000 items whole");
  return absl::OkStatus();
}

}  // namespace demo
