"""Rules of the client for asyncio against a real server and the stand-in: python test_aio.py <server> <stand-in>"""

import asyncio
import sys
import uuid

import quire
from quire import aio
from quire.v1.ledger_service_pb2 import OnBusy

SERVER, STAND_IN = sys.argv[1], sys.argv[2]
SCHEMA = {"type": "object", "properties": {"words": {"type": "string"}}}
MODEL = quire.anthropic(api_key="none", base_url=STAND_IN)
PERSONA = {"core_prompt": "You are Atlas.", "memory": {"tools": True}, "model": {"model": "claude-sonnet-5-5"}}


async def say_again(words: str) -> str:
    await asyncio.sleep(0)
    return f"You said {words}."


ECHO = quire.Tool("echo", "Says it again.", SCHEMA, say_again)
PLAIN = quire.Tool("plain", "Says it again, and blocks.", SCHEMA, lambda words: f"You said {words}.")


async def session(server: aio.Quire) -> str:
    label = f"client-{uuid.uuid4()}"[:20] + "x"
    await server.ledger.create_session(label=label, defaults={"capsule": "client-test"})
    return label


async def failure(call) -> quire.QuireError:
    try:
        await call
    except quire.QuireError as error:
        return error
    raise AssertionError("the call succeeded")


def says(words: str) -> list:
    return [{"role": "MESSAGE_ROLE_USER", "parts": [quire.text(words)]}]


async def an_error_has_reason_field_and_metadata(server: aio.Quire) -> None:
    error = await failure(server.ledger.get_session(session="nobody"))
    assert (error.code, error.reason, error.metadata) == ("NOT_FOUND", "SESSION_NOT_FOUND", {"session": "nobody"})
    error = await failure(server.ledger.list_sessions(page_size=5_000))
    assert (error.reason, error.field, error.fields) == ("INVALID_FIELD", "page_size", ["page_size"])


async def a_write_that_is_repeated_happens_once(server: aio.Quire) -> None:
    label = await session(server)
    first = await server.ledger.record_turn(request_id=label, session=label, messages=says("Hello."))
    second = await server.ledger.record_turn(request_id=label, session=label, messages=says("Hello."))
    assert first.turn.id == second.turn.id
    assert (await server.ledger.get_session(session=label)).session.depth == 1


async def a_server_that_is_not_there_is_waited_for_until_time_is_up(server: aio.Quire) -> None:
    async with aio.connect("127.0.0.1:1", timeout=0.3) as nobody:
        assert (await failure(nobody.ledger.list_sessions())).code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")


async def only_what_is_new_is_sent_and_the_whole_is_the_same(server: aio.Quire) -> None:
    label = await session(server)
    contexts = aio.Contexts(server)
    for turn in range(4):
        asked = {"session": label, "event": {"content": [quire.text(f"Question {turn}?")]}}
        folded = await contexts.assemble(**asked)
        whole = (await server.assembly.build_context(context={**asked, "dry_run": True})).context
        assert list(folded.context.history) == list(whole.history)
        assert folded.context.hashes.history == whole.hashes.history
        assert folded.sent_messages == (0 if turn == 0 else 2)
        answer = [{"role": "MESSAGE_ROLE_ASSISTANT", "parts": [quire.text(f"Answer {turn}.")]}]
        await server.ledger.record_turn(
            session=label,
            assembly_id=folded.context.assembly_id,
            messages=says(f"Question {turn}?"),
            result={"messages": answer},
        )
    history = [batch async for batch in server.ledger.stream_history(session=label)]
    assert sum(len(batch.messages) for batch in history) == 8


async def tools_memory_and_a_worker_are_carried_out(server: aio.Quire) -> None:
    label = await session(server)
    block = {"owner": {"name": "client-test"}, "label": f"notes-{label}"}
    await server.memory.create_block(block=block, type="BLOCK_TYPE_CORE")
    agent = aio.Agent(server, session=label, model=MODEL, tools=[ECHO, PLAIN, aio.worker_tool(tools=[ECHO])])
    pieces, calls = [], []
    done = await agent.turn(
        'echo {"words": "tea"} and plain {"words": "milk"}',
        on_text=pieces.append,
        on_call=lambda call: calls.append(call.name),
    )
    assert (done.text, done.steps) == ("You said tea. | You said milk.", 2), done.text
    assert done.text in "".join(pieces) and sorted(calls) == ["echo", "plain"]
    await agent.turn(f'memory_append {{"label": "notes-{label}", "content": "Ada prefers tea."}}')
    assert (await server.memory.get_block(block=block)).block.text == "Ada prefers tea."
    delegated = await agent.turn('delegate {"task": "echo {\\"words\\": \\"for you\\"}"}')
    assert (delegated.text, delegated.turn.depth) == ("You said for you.", 3)


async def turns_at_the_same_time_take_turns_and_an_interrupted_one_stops(server: aio.Quire) -> None:
    label = await session(server)

    async def one(at: int) -> quire.Outcome:
        return await aio.Agent(server, session=label, model=MODEL, tools=[ECHO]).turn(f'echo {{"words": "{at}"}}')

    outcomes = await asyncio.gather(*(one(at) for at in range(4)))
    assert [outcome.text for outcome in outcomes] == [f"You said {at}." for at in range(4)]
    assert sorted(outcome.turn.depth for outcome in outcomes) == [1, 2, 3, 4]

    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        begun.set()
        await go_on.wait()
        return "too late"

    slow = quire.Tool("slow", "Waits.", {"type": "object"}, wait)
    first = asyncio.create_task(failure(aio.Agent(server, session=label, model=MODEL, tools=[slow]).turn("slow {}")))
    await begun.wait()
    second = aio.Agent(server, session=label, model=MODEL, tools=[ECHO], on_busy=OnBusy.ON_BUSY_INTERRUPT)
    assert (await second.turn("Stop.")).turn.depth == 6
    go_on.set()
    assert (await first).reason == "INTERRUPTED"


class LeaseByHand(aio.LeasedTurn):
    """A lease that is renewed when the test says so."""

    def __init__(self, *given) -> None:
        self.waiting, self.due = asyncio.Semaphore(0), asyncio.Semaphore(0)
        super().__init__(*given)

    async def _wait(self, seconds: float) -> None:
        assert seconds == 10
        self.waiting.release()
        await self.due.acquire()


async def a_lease_is_renewed_until_its_turn_ends_and_a_loss_stops_its_work(server: aio.Quire) -> None:
    label = await session(server)
    turn = await LeaseByHand.begin(server, session=label, lease={"seconds": 30, "holder": "me"})
    turn.due.release()
    turn.due.release()
    for _ in range(3):
        await turn.waiting.acquire()
    busy = await failure(aio.LeasedTurn.begin(server, session=label))
    assert (busy.reason, busy.metadata["holder"], busy.metadata["turn_id"]) == ("SESSION_BUSY", "me", turn.id)
    await turn.append(messages=says("Hello."))
    taken = await aio.LeasedTurn.begin(server, session=label, lease={"on_busy": "ON_BUSY_INTERRUPT"})
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    working = asyncio.create_task(failure(turn.guard(work())))
    turn.due.release()
    assert (await working).reason == "INTERRUPTED" and stopped.is_set()
    await taken.fail("done")

    renewed = await LeaseByHand.begin(server, session=label, lease={"seconds": 30})
    await renewed.append(messages=says("Again."))
    assert (await renewed.complete()).turn.depth == 2
    await asyncio.gather(renewed._renewing, return_exceptions=True)
    assert renewed._renewing.cancelled() and not renewed.lost.is_set()


async def a_turn_that_is_cancelled_or_fails_leaves_the_thread_alone(server: aio.Quire) -> None:
    label = await session(server)
    begun = asyncio.Event()

    async def wait() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    slow = quire.Tool("slow", "Waits.", {"type": "object"}, wait)
    turn = asyncio.create_task(aio.Agent(server, session=label, model=MODEL, tools=[slow]).turn("slow {}"))
    await begun.wait()
    turn.cancel()
    outcome = (await asyncio.gather(turn, return_exceptions=True))[0]
    assert isinstance(outcome, asyncio.CancelledError), outcome

    class Broken:
        format, name = MODEL.format, ""

        async def call(self, body: bytes, model: str, on_text) -> bytes:
            raise ValueError("no model")

    outcome = (await asyncio.gather(aio.Agent(server, session=label, model=Broken()).turn("Hello."), return_exceptions=True))[0]
    assert isinstance(outcome, ValueError), outcome
    assert (await server.ledger.get_session(session=label)).session.depth == 0
    assert (await aio.Agent(server, session=label, model=MODEL).turn("Hello.")).turn.depth == 1


async def main() -> None:
    async with aio.connect(SERVER) as server:
        await server.capsules.put_capsule(name="client-test", body={"persona": PERSONA})
        for name, rule in list(globals().items()):
            if name.count("_") > 2 and name.islower() and getattr(rule, "__module__", "") == "__main__":
                await rule(server)
                print("aio", name.replace("_", " "), flush=True)


asyncio.run(main())
