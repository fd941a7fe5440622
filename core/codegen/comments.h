// Carries the comments of a .proto over to the code written from it.
#ifndef MARPC_CODEGEN_COMMENTS_H_
#define MARPC_CODEGEN_COMMENTS_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/printer.h"

namespace marpc::codegen {

// False when there is nothing to write.
inline bool WriteComment(absl::string_view text, google::protobuf::io::Printer& out) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.empty()) return false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    out.Print("//$line$", "line", std::string(line));
    // A backslash at the end would swallow the line of code that follows.
    if (!line.empty() && line.back() == '\\') out.Print(".");
    out.Print("\n");
  }
  return true;
}

// The comments before and behind a service or an rpc. False when there are none.
template <typename Descriptor>
bool WriteCommentsOf(const Descriptor& descriptor, google::protobuf::io::Printer& out) {
  google::protobuf::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return false;
  const bool leading = WriteComment(location.leading_comments, out);
  const bool trailing = WriteComment(location.trailing_comments, out);
  return leading || trailing;
}

}  // namespace marpc::codegen

#endif  // MARPC_CODEGEN_COMMENTS_H_
