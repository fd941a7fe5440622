// A gRPC channel whose unary calls are marpc's.
#ifndef MARPC_CONSUMER_DROP_IN_CHANNEL_H_
#define MARPC_CONSUMER_DROP_IN_CHANNEL_H_

#include <memory>

namespace grpc {
class Channel;
}  // namespace grpc

namespace marpc {

class ServiceRuntime;

// Trailing metadata of a call that failed and was answered all the same: "stale" (the last good
// answer, by staleIfError) or "fallback". A real answer has none.
inline constexpr char kAnswerTrailer[] = "marpc-answer";

// Unary calls of stock stubs on the channel, in the blocking, callback and completion-queue APIs
// alike, are taken by one client interceptor, decided and made by marpc, and their answer handed
// back; the channel itself never connects. The caller's deadline, metadata and TryCancel() hold;
// wait_for_ready, compression and call credentials have no effect, and neither the server's
// metadata nor peer() is handed back; the one trailer there can be is kAnswerTrailer. Streaming
// calls are answered with UNIMPLEMENTED.
std::shared_ptr<grpc::Channel> MakeDropInChannel(std::shared_ptr<ServiceRuntime> runtime);

}  // namespace marpc

#endif  // MARPC_CONSUMER_DROP_IN_CHANNEL_H_
