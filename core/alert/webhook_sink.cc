#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "marpc/alert/alert_sink.h"

namespace marpc {
namespace {

struct EasyCleanup {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiCleanup {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyCleanup>;
using Multi = std::unique_ptr<CURLM, MultiCleanup>;
using Headers = std::unique_ptr<curl_slist, ListCleanup>;

void Append(Headers& headers, const std::string& line) {
  headers.reset(curl_slist_append(headers.release(), line.c_str()));
}

// What is answered is of no interest.
size_t Discard(char*, size_t size, size_t count, void*) { return size * count; }

// Paths and queries of webhooks are often their passwords. What looks like a port may be the
// beginning of one, up to a '/' that nobody has escaped: user:12/34@host.
std::string WithoutPath(const std::string& url) {
  const size_t host = url.find("://") + 3;
  const size_t end = std::min(url.find_first_of("/?#", host), url.size());
  std::string authority = url.substr(host, end - host);
  authority.erase(0, authority.rfind('@') + 1);
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string::npos && authority.back() != ']';
  if (has_port && url.find('@', end) != std::string::npos) authority.erase(colon);
  return absl::StrCat(url.substr(0, host), authority);
}

class WebhookSink final : public AlertSink {
 public:
  WebhookSink(const std::string& url, std::string secret, absl::Duration timeout)
      : url_(url),
        name_(absl::StrCat("webhook ", WithoutPath(url))),
        secret_(std::move(secret)),
        timeout_(timeout) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    multi_.reset(curl_multi_init());
  }

  absl::string_view name() const override { return name_; }

  absl::Status Send(const std::string& json) override {
    const Easy easy(curl_easy_init());
    if (easy == nullptr || multi_ == nullptr) return absl::ResourceExhaustedError("no memory");
    const Headers headers = HeadersFor(json);
    Prepare(easy.get(), headers.get(), json);
    curl_multi_add_handle(multi_.get(), easy.get());
    const absl::Status status = Run(easy.get());
    curl_multi_remove_handle(multi_.get(), easy.get());
    return status;
  }

  void Abort() override {
    aborted_.store(true);
    curl_multi_wakeup(multi_.get());
  }

 private:
  Headers HeadersFor(const std::string& json) const {
    Headers headers;
    Append(headers, "Content-Type: application/json");
    Append(headers, "Expect:");
    if (secret_.empty()) return headers;
    const std::string timestamp = absl::StrCat(absl::ToUnixSeconds(absl::Now()));
    Append(headers, absl::StrCat("X-Marpc-Timestamp: ", timestamp));
    Append(headers,
           absl::StrCat("X-Marpc-Signature: sha256=", AlertSignature(secret_, timestamp, json)));
    return headers;
  }

  void Prepare(CURL* easy, curl_slist* headers, const std::string& json) const {
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(json.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, json.data());
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "marpc");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(absl::ToInt64Milliseconds(timeout_)));
    // Signals are the program's.
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // An abort does not wait for a name that is being looked up.
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Discard);
  }

  absl::Status Run(CURL* easy) {
    int running = 1;
    while (!aborted_.load()) {
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) {
        return absl::InternalError("curl_multi_perform failed");
      }
      if (running == 0) return Result(easy);
      curl_multi_poll(multi_.get(), nullptr, 0, 1000, nullptr);
    }
    return absl::CancelledError("closed");
  }

  absl::Status Result(CURL* easy) {
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi_.get(), &left);
    if (message == nullptr) return absl::InternalError("no word of what became of it");
    if (message->data.result != CURLE_OK) {
      return absl::UnavailableError(curl_easy_strerror(message->data.result));
    }
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 200 && code < 300) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("answered with HTTP status ", code));
  }

  const std::string url_;
  const std::string name_;
  const std::string secret_;
  const absl::Duration timeout_;
  std::atomic<bool> aborted_{false};
  Multi multi_;
};

}  // namespace

std::string AlertSignature(absl::string_view secret, absl::string_view timestamp,
                           absl::string_view body) {
  const std::string signed_text = absl::StrCat(timestamp, ".", body);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), digest,
       &size);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::unique_ptr<AlertSink> MakeWebhookSink(const std::string& url, const std::string& secret,
                                           absl::Duration timeout) {
  return std::make_unique<WebhookSink>(url, secret, timeout);
}

}  // namespace marpc
