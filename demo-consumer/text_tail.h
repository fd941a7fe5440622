// The end of a log, for error messages.
#ifndef DEMO_CONSUMER_TEXT_TAIL_H_
#define DEMO_CONSUMER_TEXT_TAIL_H_

#include <string>

namespace demo {

// "\n  | line\n  | line": the last lines of `path`. Empty when it has none.
std::string TextTail(const std::string& path);

}  // namespace demo

#endif  // DEMO_CONSUMER_TEXT_TAIL_H_
