#include "marpc/config/alert_keys.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "marpc/config/alert_settings.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/value_type.h"

namespace marpc {

namespace {

// A program and its arguments.
ValueType<std::vector<std::string>> Command() {
  ValueType<std::vector<std::string>> type = ListOf(AnyText());
  type.read = [read = type.read](const YamlNode& node, ReadContext& context,
                                 std::vector<std::string>* target) {
    std::vector<std::string> command;
    if (!read(node, context, &command)) return false;
    if (!NamesProgram(command)) {
      context.faults.Add(
          node.mark, absl::StrCat(context.key, ": the program's name, the first item, is empty"));
      return false;
    }
    *target = std::move(command);
    return true;
  };
  return type;
}

}  // namespace

bool IsWebUrl(absl::string_view url) {
  if (!absl::ConsumePrefix(&url, "http://") && !absl::ConsumePrefix(&url, "https://")) return false;
  for (const char c : url) {
    if (c <= ' ' || c == 0x7f) return false;
  }
  absl::string_view authority = url.substr(0, url.find_first_of("/?#"));
  if (const size_t at = authority.rfind('@'); at != absl::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  // Of an address in brackets, what follows these.
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == absl::string_view::npos ? 0 : bracket);
  if (colon == absl::string_view::npos) return !authority.empty();
  const absl::string_view port = authority.substr(colon + 1);
  const bool digits = port.find_first_not_of("0123456789") == absl::string_view::npos;
  int number = 0;
  if (!port.empty() && (!absl::SimpleAtoi(port, &number) || number < 1 || number > 65535)) {
    return false;
  }
  return colon > 0 && digits;
}

bool NamesProgram(const std::vector<std::string>& command) {
  return command.empty() || !command[0].empty();
}

std::vector<Key> AlertKeys() {
  using A = AlertSettings;
  const auto of = [](auto A::*member) { return At(&Settings::alerts, member); };
  return {
      Define("alerts.on", of(&A::on),
             OneOrSeveralOf<AlertEvents>({{"breakerOpen", &AlertEvents::breaker_open},
                                          {"breakerClose", &AlertEvents::breaker_close},
                                          {"ejected", &AlertEvents::ejected},
                                          {"readmitted", &AlertEvents::readmitted},
                                          {"unhealthy", &AlertEvents::unhealthy},
                                          {"healthy", &AlertEvents::healthy}}),
             "[breakerOpen, ejected, unhealthy]", "What a consumer tells of."),
      Secret(Define("alerts.webhook.url", of(&A::webhook_url),
                    Text("http:// or https:// URL", std::string(kWebUrl),
                         [](const std::string& text) { return text.empty() || IsWebUrl(text); }),
                    "'https://alerts.example.com/marpc'",
                    "Where alerts are posted as JSON; empty: nowhere. Kept out of messages, since "
                    "its path is often a password.")),
      Secret(Define("alerts.webhook.secret", of(&A::webhook_secret), AnyText(),
                    "'${MARPC_ALERT_SECRET:change-me}'",
                    "Signs what is posted, with HMAC-SHA256; kept out of logs and messages.")),
      Define("alerts.command", of(&A::command), Command(), "[/usr/local/bin/page, marpc]",
             "A program and its arguments that gets each alert as JSON on its standard input; run "
             "without a shell. Empty: none."),
      Define("alerts.minInterval", of(&A::min_interval),
             Time(absl::ZeroDuration(), absl::Hours(24)), "5m",
             "At most one alert of a kind about one breaker or instance in so long; the next one "
             "says how many were left out."),
      Define("alerts.timeout", of(&A::timeout), Time(absl::Milliseconds(10), absl::Minutes(1)),
             "1s", "What posting one alert, or running the command, may take."),
  };
}

}  // namespace marpc
