// A system that does not have a certain call.
#ifndef MARPC_TESTS_SUPPORT_WITHOUT_SYSTEM_CALL_H_
#define MARPC_TESTS_SUPPORT_WITHOUT_SYSTEM_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <thread>

namespace marpc::testing {

// Runs `body` on a thread for which, and for those that it starts, the call fails with ENOSYS.
// False, and `body` has not run, where the system does not let tests do that.
inline bool RunWithoutSystemCall(int number, const std::function<void()>& body) {
  bool ran = false;
  std::thread([&] {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      return;
    }
    ran = true;
    body();
  }).join();
  return ran;
}

}  // namespace marpc::testing

#endif  // MARPC_TESTS_SUPPORT_WITHOUT_SYSTEM_CALL_H_
