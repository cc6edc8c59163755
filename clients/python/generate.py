"""Makes what is generated, from the contract: the stubs in quire/v1, and quire/_services.py, where their methods are typed."""

import re
import shutil
from pathlib import Path

HEAD = '''"""The services of the contract. Written by generate.py."""

from collections.abc import Iterator
from typing import Any

from ._calls import Service
from .v1 import {modules}
'''
UNARY = '''
    def {name}(self, request: {input} | None = None, *, timeout: float | None = None, **fields: Any) -> {output}:
        return self._unary("{rpc}", request or {input}(**fields), {output}, timeout)
'''
STREAM = '''
    def {name}(self, request: {input} | None = None, *, timeout: float | None = None, **fields: Any) -> Iterator[{output}]:
        return self._stream("{rpc}", request or {input}(**fields), {output}, timeout)
'''


def generate(contract: Path, out: Path) -> None:
    import grpc_tools
    from grpc_tools import protoc

    stubs = out / "quire" / "v1"
    shutil.rmtree(stubs, ignore_errors=True)
    files = sorted(str(path.relative_to(contract)) for path in contract.glob("quire/v1/*.proto"))
    known = Path(grpc_tools.__file__).parent / "_proto"
    paths = [f"--proto_path={contract}", f"--proto_path={known}"]
    if protoc.main(["protoc", *paths, f"--python_out={out}", f"--pyi_out={out}", *files]) != 0:
        raise SystemExit("protoc failed")
    (stubs / "__init__.py").write_text('"""The contract\'s messages, one module for each of its files."""\n')
    homes = {
        name: f"{path.stem}_pb2"
        for path in contract.glob("quire/v1/*.proto")
        for name in re.findall(r"^message (\w+) \{", path.read_text(), re.M)
    }
    classes = "".join(service_class(path, homes) for path in sorted(contract.glob("quire/v1/*_service.proto")))
    used = sorted(module for module in set(homes.values()) if f" {module}." in classes)
    text = HEAD.format(modules=", ".join(used)) + classes
    (out / "quire" / "_services.py").write_text(text)


def service_class(path: Path, homes: dict[str, str]) -> str:
    proto = path.read_text()
    service = re.search(r"^service (\w+) \{", proto, re.M)
    assert service, path
    text = f'\n\nclass {service[1]}(Service):\n    NAME = "quire.v1.{service[1]}"\n'
    for rpc, sent, stream, answer in re.findall(r"^  rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);", proto, re.M):
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", rpc).lower()
        types = {"input": f"{homes[sent]}.{sent}", "output": f"{homes[answer]}.{answer}"}
        text += (STREAM if stream else UNARY).format(name=name, rpc=rpc, **types)
    return text
