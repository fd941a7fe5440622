#include "marpc/filter/guarded_filter.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "marpc/base/user_code.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

void LogThrow(const Filter& filter, const FilterCall& call) {
  Logger()->error("event=filter_threw filter={} method={} what=\"{}\"", std::string(filter.name()),
                  call.method.full_name, WhatWasThrown());
}

}  // namespace

Filter::Verdict GuardedBefore(Filter& filter, FilterCall& call) {
  try {
    return filter.Before(call);
  } catch (...) {
    return Filter::Verdict::Fail(StatusOfException(
        absl::StrCat("the filter '", filter.name(), "' of ", call.method.full_name)));
  }
}

void GuardedAfter(Filter& filter, FilterCall& call, const absl::Status& status) {
  try {
    filter.After(call, status);
  } catch (...) {
    LogThrow(filter, call);
  }
}

void GuardedAbandoned(Filter& filter, FilterCall& call, const absl::Status& status) {
  try {
    filter.Abandoned(call, status);
  } catch (...) {
    LogThrow(filter, call);
  }
}

}  // namespace marpc
