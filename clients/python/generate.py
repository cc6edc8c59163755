"""Makes what is generated, from the contract: the stubs in quire/v1, and quire/_services.py and _aio_services.py, where their methods are typed."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

HEAD = '''"""The services of the contract. Written by generate.py."""

from collections.abc import {iterator}
from typing import Any

from ._calls import {base}
from .v1 import {modules}
'''
METHOD = '''
    {define} {name}(self, request: {input} | None = None, *, timeout: float | None = None, **fields: Any) -> {returns}:
        return {call}("{rpc}", request or {input}(**fields), {output}, timeout)
'''


@dataclass(frozen=True)
class Flavour:
    """How the methods of one module are written."""

    module: str
    base: str
    iterator: str
    unary: tuple[str, str]
    """What defines a method that is answered once, and how it calls."""


FLAVOURS = [
    Flavour("_services", "Service", "Iterator", ("def", "self._unary")),
    Flavour("_aio_services", "AioService", "AsyncIterator", ("async def", "await self._unary")),
]


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
    for flavour in FLAVOURS:
        services = sorted(contract.glob("quire/v1/*_service.proto"))
        classes = "".join(service_class(path, homes, flavour) for path in services)
        used = sorted(module for module in set(homes.values()) if f" {module}." in classes)
        head = HEAD.format(modules=", ".join(used), base=flavour.base, iterator=flavour.iterator)
        (out / "quire" / f"{flavour.module}.py").write_text(head + classes)


def service_class(path: Path, homes: dict[str, str], flavour: Flavour) -> str:
    proto = path.read_text()
    service = re.search(r"^service (\w+) \{", proto, re.M)
    assert service, path
    text = f'\n\nclass {service[1]}({flavour.base}):\n    NAME = "quire.v1.{service[1]}"\n'
    for rpc, sent, stream, answer in re.findall(r"^  rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);", proto, re.M):
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", rpc).lower()
        types = {"input": f"{homes[sent]}.{sent}", "output": f"{homes[answer]}.{answer}"}
        define, call = ("def", "self._stream") if stream else flavour.unary
        returns = f"{flavour.iterator}[{types['output']}]" if stream else types["output"]
        text += METHOD.format(name=name, rpc=rpc, define=define, call=call, returns=returns, **types)
    return text
