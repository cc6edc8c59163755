"""One agent with Quire, from its definition to its second turn: PYTHONPATH=gen python main.py [address]

The stubs, after mkdir gen:
    python -m grpc_tools.protoc -I ../../contract --python_out=gen --pyi_out=gen --grpc_python_out=gen ../../contract/quire/v1/*.proto
"""

import json
import os
import sys
import uuid
from collections.abc import Iterable

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from grpc_status import rpc_status
from quire.v1 import assembly_pb2, assembly_service_pb2, capsule_pb2, capsule_service_pb2, ledger_service_pb2
from quire.v1.assembly_service_pb2_grpc import AssemblyServiceStub
from quire.v1.capsule_service_pb2_grpc import CapsuleServiceStub
from quire.v1.ledger_service_pb2_grpc import LedgerServiceStub
from quire.v1.message_pb2 import Message, MessageRole, Part, TextPart
from quire.v1.origin_pb2 import EventSource
from quire.v1.rendering_pb2 import BodyFormat
from quire.v1.response_pb2 import ProviderResponse, ToolOutput
from quire.v1.workspace_pb2 import Tool

USER = MessageRole.MESSAGE_ROLE_USER
SECONDS = 10  # Every call has a deadline; the server stops its work when that passes.


def text(value: str) -> Part:
    return Part(text=TextPart(text=value))


def says(role: MessageRole, *parts: Part) -> Message:
    return Message(role=role, parts=parts)


def answered(**message: object) -> ProviderResponse:
    """What a model answered, as its provider gives it. In an engine it is the body of the HTTP response."""
    body = json.dumps({"choices": [{"message": {"role": "assistant", **message}}]})
    return ProviderResponse(format=BodyFormat.BODY_FORMAT_OPENAI_CHAT, body=body.encode())


def fold(events: Iterable[assembly_service_pb2.AssembleResponse]) -> assembly_pb2.AssembledContext:
    """Puts the stream together. What was sent is final, so each layer can be used as soon as it is there."""
    context = assembly_pb2.AssembledContext()
    for response in events:
        kind = response.WhichOneof("event")
        event = getattr(response, kind)
        if kind == "resolved":
            context.assembly_id, context.parent_turn_id, context.model = event.assembly_id, event.parent_turn_id, event.model
            print(f"resolved   {event.model}, {event.budget.available} tokens available")
        elif kind == "tools":
            context.tools.extend(event.tools)
            print(f"tools      {event.tokens:5} tokens")
        elif kind == "system":
            context.system_prompt = event.text
            print(f"system     {event.tokens:5} tokens: {', '.join(section.name for section in event.sections)}")
        elif kind == "history":
            context.history.extend(event.messages)
            if event.HasField("layer"):  # The first batch describes the whole layer.
                print(f"history    {event.layer.tokens:5} tokens: {event.layer.turns} turns")
        elif kind == "current_message":
            context.current_message.CopyFrom(event.message)
            print(f"current    {event.tokens:5} tokens")
        elif kind == "completed":
            context.token_budget.CopyFrom(event.budget)
            print(f"completed  {event.budget.used.total:5} tokens used, {event.budget.remaining} left")
    return context


def reason_and_fields(error: grpc.RpcError) -> tuple[str, list[str]]:
    """What went wrong, by name, and where in the request."""
    reason, fields = "", []
    for detail in rpc_status.from_call(error).details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            reason = ErrorInfo.FromString(detail.value).reason
        elif detail.Is(BadRequest.DESCRIPTOR):
            fields = [violation.field for violation in BadRequest.FromString(detail.value).field_violations]
    return reason, fields


def main(address: str) -> None:
    channel = grpc.insecure_channel(address)
    capsules, ledger, assembly = CapsuleServiceStub(channel), LedgerServiceStub(channel), AssemblyServiceStub(channel)
    label = f"python-{uuid.uuid4()}"

    # Who the agent is. A write with a request_id happens once, however often it is sent.
    persona = capsule_pb2.Persona(core_prompt="You are Atlas. You find orders.", model={"model": "gpt-5", "provider": "openai"})
    body = capsule_pb2.CapsuleBody(persona=persona)
    put = capsule_service_pb2.PutCapsuleRequest(request_id=str(uuid.uuid4()), name=label, body=body)
    capsules.PutCapsule(put, timeout=SECONDS)
    ledger.CreateSession(ledger_service_pb2.CreateSessionRequest(label=label), timeout=SECONDS)

    # A turn: what came in, and what the model answered. It calls a tool, so the turn waits for the result.
    find = {"id": "call_1", "type": "function", "function": {"name": "find_order", "arguments": '{"user": 42}'}}
    asked = ledger.RecordTurn(
        ledger_service_pb2.RecordTurnRequest(
            request_id=str(uuid.uuid4()),
            session=label,
            messages=[says(USER, text("Where is my order?"))],
            response=answered(content=None, tool_calls=[find]),
        ),
        timeout=SECONDS,
    )
    results = [ToolOutput(call_id=call.call_id, text=f"{call.name}: shipped") for call in asked.answer.tool_calls]
    first = ledger.RecordTurn(
        ledger_service_pb2.RecordTurnRequest(
            request_id=str(uuid.uuid4()),
            session=label,
            parent_turn_id=asked.head_turn_id,
            tool_results=results,
            response=answered(content="It was shipped this morning."),
        ),
        timeout=SECONDS,
    )
    assert first.answer.text == "It was shipped this morning."

    # What should the model see now? Layer by layer, or the same at once.
    question = text("When will it be here?")
    event = assembly_pb2.AgentEvent(source=EventSource.EVENT_SOURCE_HUMAN, content=[question], timezone="Europe/Vienna")
    tool = Tool(name="find_order", description="Finds an order.", input_schema_json='{"type": "object"}')
    request = assembly_service_pb2.ContextRequest(session=label, capsule=label, event=event, tools=[tool])
    context = fold(assembly.Assemble(assembly_service_pb2.AssembleRequest(context=request), timeout=SECONDS))
    built = assembly.BuildContext(assembly_service_pb2.BuildContextRequest(context=request), timeout=SECONDS).context
    assert context.parent_turn_id == built.parent_turn_id == first.head_turn_id
    assert context.system_prompt == built.system_prompt and "You are Atlas." in context.system_prompt
    assert list(context.tools) == list(built.tools) == [tool]
    assert list(context.history) == list(built.history) and len(context.history) == 4
    # The time is in `context_parts`, and has moved on between the two calls. The event's own content is untouched.
    assert list(context.current_message.parts) == list(built.current_message.parts) == [question]

    # The turn that answers it. With its assembly_id, what was sent before the user's words is kept with them.
    second = ledger.RecordTurn(
        ledger_service_pb2.RecordTurnRequest(
            request_id=str(uuid.uuid4()),
            session=label,
            assembly_id=context.assembly_id,
            messages=[says(USER, question)],
            response=answered(content="On Thursday."),
        ),
        timeout=SECONDS,
    )
    kept = ledger.GetTurn(ledger_service_pb2.GetTurnRequest(turn_id=second.turn.id), timeout=SECONDS).recorded.result.messages[0]
    assert list(kept.context_parts) == list(context.current_message.context_parts)
    print(f"recorded   turn {second.turn.depth}, with the context that was sent")

    # An error says what is wrong, and where. Nothing was written.
    try:
        orphan = ToolOutput(call_id="call_9", text="?")
        turn = ledger_service_pb2.RecordTurnRequest(session=label, parent_turn_id=second.head_turn_id, tool_results=[orphan])
        ledger.RecordTurn(turn, timeout=SECONDS)
        raise AssertionError("a result without a call was taken")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert reason_and_fields(error) == ("ORPHAN_TOOL_RESULT", ["tool_results[0].call_id"])
        print("refused   ", *reason_and_fields(error))

    # A watch has no end of its own: it lasts until its deadline.
    try:
        for moved in ledger.WatchSession(ledger_service_pb2.WatchSessionRequest(session=label), timeout=0.1):
            print("watching  ", moved.WhichOneof("event"))
        raise AssertionError("the deadline was not respected")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        print("deadline  ", error.code().name)
    channel.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("QUIRE_ADDRESS", "127.0.0.1:50051"))
