"""The generators of grpcio-tools as a plugin of buf.

grpcio-tools has them inside its protoc, and nowhere else; buf runs plugins. So this plugin hands the files that buf
has compiled to that protoc.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
with TemporaryDirectory() as folder:
    descriptors, out = Path(folder, "descriptors.binpb"), Path(folder, "out")
    out.mkdir()
    descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
    outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
    code = protoc.main(["protoc", f"--descriptor_set_in={descriptors}", *outputs, *request.file_to_generate])
    if code != 0:
        response.error = f"protoc ended with {code}"
    for path in sorted(out.rglob("*.py*")):
        response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text())
sys.stdout.buffer.write(response.SerializeToString())
