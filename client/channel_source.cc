#include "client/channel_source.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace headgate::client::internal {
namespace {

TlsFiles FilesOf(const ConnectionOptions& options) {
  if (!options.tls.has_value()) return {};
  return {.certificates = options.tls->certificate_file,
          .key = options.tls->key_file,
          .authorities = options.tls->ca_file};
}

absl::Status Validate(const ConnectionOptions& options) {
  if (options.address.empty()) return absl::InvalidArgumentError("address: is empty");
  if (absl::StartsWith(options.address, "http://") ||
      absl::StartsWith(options.address, "https://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("address: ", options.address,
                     " is a URL; it has to be the host and the port of gRPC, as host:8081"));
  }
  if (!options.tls.has_value()) {
    if (options.token_file.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("token_file: a token is sent over TLS only");
  }
  if (options.tls->certificate_file.empty() == options.tls->key_file.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "tls: certificate_file and key_file are given together, or neither");
}

}  // namespace

absl::Status CheckFiles(const ConnectionOptions& options) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  if (!options.token_file.empty()) {
    const auto token = Token::Load(options.token_file, NewRealTime());
    if (!token.ok()) return token.status();
  }
  const TlsFiles files = FilesOf(options);
  const auto texts = WatchedFiles(PathsOf(files), NewRealTime()).Read();
  return texts.ok() ? CredentialsOf(files, *texts).status() : texts.status();
}

absl::StatusOr<std::shared_ptr<ChannelSource>> ChannelSource::Create(
    const ConnectionOptions& options, const grpc::ChannelArguments& arguments,
    const std::shared_ptr<TimeSource>& time) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  // Not make_shared: the constructor is private.
  std::shared_ptr<ChannelSource> source(new ChannelSource(options, arguments, time));
  if (absl::Status loaded = source->Load(); !loaded.ok()) return loaded;
  return source;
}

ChannelSource::ChannelSource(const ConnectionOptions& options,
                             const grpc::ChannelArguments& arguments,
                             const std::shared_ptr<TimeSource>& time)
    : options_(options),
      tls_files_(FilesOf(options)),
      arguments_(arguments),
      time_(time),
      files_(PathsOf(tls_files_), time) {
  if (options.tls.has_value() && !options.tls->server_name.empty()) {
    arguments_.SetString(GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, options.tls->server_name);
  }
}

absl::Status ChannelSource::Load() {
  MutexLock lock(&mutex_);
  if (!options_.tls.has_value()) {
    channel_ =
        grpc::CreateCustomChannel(options_.address, grpc::InsecureChannelCredentials(), arguments_);
    return absl::OkStatus();
  }
  if (!options_.token_file.empty()) {
    absl::StatusOr<std::shared_ptr<Token>> token = Token::Load(options_.token_file, time_);
    if (!token.ok()) return token.status();
    token_ = *std::move(token);
  }
  const absl::StatusOr<WatchedFiles::Texts> texts = files_.Read();
  if (!texts.ok()) return texts.status();
  return Connect(*texts);
}

absl::Status ChannelSource::Connect(const WatchedFiles::Texts& texts) {
  const absl::StatusOr<TlsCredentials> read = CredentialsOf(tls_files_, texts);
  if (!read.ok()) return read.status();
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      grpc::SslCredentials({.pem_root_certs = read->authorities,
                            .pem_private_key = read->key,
                            .pem_cert_chain = read->certificates});
  if (token_ != nullptr) {
    credentials = grpc::CompositeChannelCredentials(credentials, token_->CallCredentials());
  }
  channel_ = grpc::CreateCustomChannel(options_.address, credentials, arguments_);
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> ChannelSource::Get() {
  MutexLock lock(&mutex_);
  if (options_.tls.has_value()) {
    const std::optional<WatchedFiles::Texts> news = files_.News();
    // Files that do not belong together yet: what is in force stays.
    if (news.has_value()) Connect(*news).IgnoreError();
  }
  return channel_;
}

}  // namespace headgate::client::internal
