#include "server/serve/transport/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/serve/transport/call_origin.h"
#include "server/serve/transport/error_status.h"

namespace headgate::transport {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

constexpr int kMaxStreams = 16;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

void NotFound(const std::string& what, ReflectionService::Response& response) {
  auto& error = *response.mutable_error_response();
  error.set_error_code(static_cast<int>(grpc::StatusCode::NOT_FOUND));
  // A caller's text is not sent back at any length.
  error.set_error_message(absl::StrCat("not found: ", what.substr(0, 200)));
}

// What a file imports comes before it.
void Add(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
         grpc::reflection::v1alpha::FileDescriptorResponse& response) {
  if (!added.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) Add(*file.dependency(i), added, response);
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  proto.SerializeToString(response.add_file_descriptor_proto());
}

void AnswerFile(const FileDescriptor* file, const std::string& asked,
                ReflectionService::Response& response) {
  if (file == nullptr) return NotFound(asked, response);
  std::set<const FileDescriptor*> added;
  Add(*file, added, *response.mutable_file_descriptor_response());
}

const FileDescriptor* FileOfExtension(const std::string& type, int number) {
  const Descriptor* const message = Pool().FindMessageTypeByName(type);
  const FieldDescriptor* const extension =
      message == nullptr ? nullptr : Pool().FindExtensionByNumber(message, number);
  return extension == nullptr ? nullptr : extension->file();
}

void AnswerExtensions(const std::string& type, ReflectionService::Response& response) {
  const Descriptor* const message = Pool().FindMessageTypeByName(type);
  if (message == nullptr) return NotFound(type, response);
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(message, &extensions);
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  for (const FieldDescriptor* const extension : extensions) {
    numbers.add_extension_number(extension->number());
  }
}

}  // namespace

ReflectionService::ReflectionService(Plaintext plaintext, Admission admission)
    : plaintext_(plaintext), admission_(std::move(admission)) {
  AddSyncBidi<Request, Response>(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      [this](grpc::ServerContext& context, Stream& stream) { return Serve(context, stream); });
}

grpc::Status ReflectionService::Serve(grpc::ServerContext& context, Stream& stream) {
  if (plaintext_ == Plaintext::kRefused && IsPlaintext(context)) return HealthPortError();
  if (grpc::Status admitted = admission_(context); !admitted.ok()) return admitted;
  // relaxed, here and below: nothing is read on the strength of this number.
  const absl::Cleanup leave = [this] { streams_.fetch_sub(1, std::memory_order_relaxed); };
  if (streams_.fetch_add(1, std::memory_order_relaxed) >= kMaxStreams) {
    return Overloaded("TOO_MANY_STREAMS", "no room for another reflection stream");
  }
  Decoded<Request> request;
  while (stream.Read(&request)) {
    if (!request.complete()) return request.Error();
    Response response;
    Answer(request.message, response);
    if (!stream.Write(response)) break;
  }
  return grpc::Status();
}

void ReflectionService::Answer(const Request& request, Response& response) const {
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      return AnswerFile(Pool().FindFileByName(request.file_by_filename()),
                        request.file_by_filename(), response);
    case Request::kFileContainingSymbol:
      return AnswerFile(Pool().FindFileContainingSymbol(request.file_containing_symbol()),
                        request.file_containing_symbol(), response);
    case Request::kFileContainingExtension: {
      const auto& asked = request.file_containing_extension();
      return AnswerFile(FileOfExtension(asked.containing_type(), asked.extension_number()),
                        asked.containing_type(), response);
    }
    case Request::kAllExtensionNumbersOfType:
      return AnswerExtensions(request.all_extension_numbers_of_type(), response);
    case Request::kListServices:
      for (const std::string& name : services_) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case Request::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  auto& error = *response.mutable_error_response();
  error.set_error_code(static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  error.set_error_message("nothing is asked");
}

}  // namespace headgate::transport
