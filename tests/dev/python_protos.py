"""python_protos.py GENERATED ours|theirs ADDRESS: see python_protos.sh."""

import importlib
import importlib.util
import pathlib
import sys

import grpc
from google.protobuf import descriptor_pb2

GOOGLE = ["google/rpc/status.proto", "google/rpc/error_details.proto"]
# grpcio's packages have these under names of their own, since grpc is a module of theirs.
RENAMED = {
    "grpc/health/v1/health.proto": "grpc_health.v1.health_pb2",
    "grpc/reflection/v1alpha/reflection.proto": "grpc_reflection.v1alpha.reflection_pb2",
}


def module_name(proto):
    return proto.removesuffix(".proto").replace("/", ".") + "_pb2"


def load_ours(generated, proto):
    """The module that was generated from our file, under a name that nobody else has."""
    path = generated / "google" / (proto.removesuffix(".proto") + "_pb2.py")
    spec = importlib.util.spec_from_file_location("ours." + module_name(proto), path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except TypeError as conflict:
        sys.exit(f"{proto}: {conflict}")
    return module


def load_theirs(proto):
    try:
        return importlib.import_module(module_name(proto))
    except TypeError as conflict:
        sys.exit(f"{proto}: {conflict}")


def without_json_names(message):
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        without_json_names(nested)


def compare(generated, proto, theirs):
    """Our file, as the compiler sees it, is the one that upstream's module has."""
    files = descriptor_pb2.FileDescriptorSet.FromString((generated / "descriptors").read_bytes())
    ours = next(file for file in files.file if file.name == proto)
    for message in ours.message_type:
        without_json_names(message)
    upstream = descriptor_pb2.FileDescriptorProto()
    theirs.DESCRIPTOR.CopyToProto(upstream)
    upstream.name = proto
    if ours != upstream:
        sys.exit(f"{proto} is not upstream's:\n{ours}\ninstead of\n{upstream}")


def bad_identity(generated, address):
    """The details of a real error."""
    sys.path.insert(0, str(generated / "headgate"))
    from headgate.v1 import throttler_service_pb2, throttler_service_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        throttler = throttler_service_pb2_grpc.ThrottlerServiceStub(channel)
        try:
            throttler.Check(throttler_service_pb2.CheckRequest(identity="job 7"), timeout=30)
        except grpc.RpcError as error:
            return dict(error.trailing_metadata())["grpc-status-details-bin"]
    sys.exit("the server takes a bad identity")


def read(trailer, status_module, details_module):
    status = status_module.Status.FromString(trailer)
    assert status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0], status
    info, bad = details_module.ErrorInfo(), details_module.BadRequest()
    assert any(detail.Unpack(info) for detail in status.details), status
    assert any(detail.Unpack(bad) for detail in status.details), status
    assert info.domain == "headgate", info
    assert [violation.field for violation in bad.field_violations] == ["identity"], bad


def main():
    generated, first, address = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    loaders = {"ours": lambda proto: load_ours(generated, proto), "theirs": load_theirs}
    order = sorted(loaders, key=lambda who: who != first)
    loaded = {who: [loaders[who](proto) for proto in GOOGLE] for who in order}
    for proto, theirs in zip(GOOGLE, loaded["theirs"]):
        compare(generated, proto, theirs)
    for proto, theirs in RENAMED.items():
        compare(generated, proto, importlib.import_module(theirs))
    trailer = bad_identity(generated, address)
    for status_module in loaded.values():
        for details_module in loaded.values():
            read(trailer, status_module[0], details_module[1])


main()
