#include "marpc/codegen/names.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"

namespace marpc::codegen {
namespace {

// Keywords of C++20, and the macros of the C library that an rpc could be named like.
bool IsReserved(absl::string_view name) {
  static const auto& reserved = *new std::set<absl::string_view>{"EOF",
                                                                 "NULL",
                                                                 "alignas",
                                                                 "alignof",
                                                                 "and",
                                                                 "and_eq",
                                                                 "asm",
                                                                 "assert",
                                                                 "auto",
                                                                 "bitand",
                                                                 "bitor",
                                                                 "bool",
                                                                 "break",
                                                                 "case",
                                                                 "catch",
                                                                 "char",
                                                                 "char16_t",
                                                                 "char32_t",
                                                                 "char8_t",
                                                                 "class",
                                                                 "co_await",
                                                                 "co_return",
                                                                 "co_yield",
                                                                 "compl",
                                                                 "concept",
                                                                 "const",
                                                                 "const_cast",
                                                                 "consteval",
                                                                 "constexpr",
                                                                 "constinit",
                                                                 "continue",
                                                                 "decltype",
                                                                 "default",
                                                                 "delete",
                                                                 "do",
                                                                 "double",
                                                                 "dynamic_cast",
                                                                 "else",
                                                                 "enum",
                                                                 "errno",
                                                                 "explicit",
                                                                 "export",
                                                                 "extern",
                                                                 "false",
                                                                 "float",
                                                                 "for",
                                                                 "friend",
                                                                 "goto",
                                                                 "if",
                                                                 "inline",
                                                                 "int",
                                                                 "long",
                                                                 "mutable",
                                                                 "namespace",
                                                                 "new",
                                                                 "noexcept",
                                                                 "not",
                                                                 "not_eq",
                                                                 "nullptr",
                                                                 "operator",
                                                                 "or",
                                                                 "or_eq",
                                                                 "private",
                                                                 "protected",
                                                                 "public",
                                                                 "register",
                                                                 "reinterpret_cast",
                                                                 "requires",
                                                                 "return",
                                                                 "short",
                                                                 "signed",
                                                                 "sizeof",
                                                                 "static",
                                                                 "static_assert",
                                                                 "static_cast",
                                                                 "struct",
                                                                 "switch",
                                                                 "template",
                                                                 "this",
                                                                 "thread_local",
                                                                 "throw",
                                                                 "true",
                                                                 "try",
                                                                 "typedef",
                                                                 "typeid",
                                                                 "typename",
                                                                 "union",
                                                                 "unsigned",
                                                                 "using",
                                                                 "virtual",
                                                                 "void",
                                                                 "volatile",
                                                                 "wchar_t",
                                                                 "while",
                                                                 "xor",
                                                                 "xor_eq"};
  return reserved.count(name) > 0;
}

}  // namespace

std::string CppIdentifier(absl::string_view name) {
  return absl::StrCat(name, IsReserved(name) ? "_" : "");
}

std::vector<std::string> Namespaces(const google::protobuf::FileDescriptor& file) {
  std::vector<std::string> namespaces;
  for (absl::string_view part : absl::StrSplit(file.package(), '.', absl::SkipEmpty())) {
    namespaces.push_back(CppIdentifier(part));
  }
  return namespaces;
}

std::string AsIdentifier(absl::string_view text) {
  std::string identifier;
  for (const char c : text) {
    if (absl::ascii_isalnum(c)) {
      identifier += c;
    } else {
      absl::StrAppendFormat(&identifier, "_%02x", static_cast<unsigned char>(c));
    }
  }
  return identifier;
}

std::vector<MethodNames> NamesOfMethods(const google::protobuf::ServiceDescriptor& service) {
  std::set<std::string> taken = {absl::StrCat(service.name(), "Client"),
                                 absl::StrCat(service.name(), "Handler"), "client_", "service",
                                 "methods"};
  const auto take = [&taken](std::string name) {
    while (IsReserved(name) || taken.count(name) > 0) name += '_';
    taken.insert(name);
    return name;
  };
  std::vector<MethodNames> names(service.method_count());
  // An rpc that can have its own name gets it, wherever the ones that cannot stand.
  for (int i = 0; i < service.method_count(); ++i) {
    const std::string& wanted = service.method(i)->name();
    if (!IsReserved(wanted) && taken.insert(wanted).second) names[i].call = wanted;
  }
  for (int i = 0; i < service.method_count(); ++i) {
    if (names[i].call.empty()) names[i].call = take(service.method(i)->name());
  }
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *service.method(i);
    if (method.client_streaming() || method.server_streaming()) continue;
    names[i].async = take(absl::StrCat(method.name(), "Async"));
  }
  return names;
}

}  // namespace marpc::codegen
