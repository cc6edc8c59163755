"""Rules of the client against a real server and the stand-in: python test_client.py <server> <stand-in>"""

import queue
import sys
import threading
import uuid

import quire
from quire.v1.ledger_service_pb2 import OnBusy

SERVER, STAND_IN = sys.argv[1], sys.argv[2]
server = quire.connect(SERVER)
persona = {"core_prompt": "You are Atlas.", "memory": {"tools": True}, "model": {"model": "claude-sonnet-5-5"}}
server.capsules.put_capsule(name="client-test", body={"persona": persona})
model = quire.anthropic(api_key="none", base_url=STAND_IN)
SCHEMA = {"type": "object", "properties": {"words": {"type": "string"}}}
echo = quire.Tool("echo", "Says it again.", SCHEMA, lambda words: f"You said {words}.")


def session() -> str:
    label = f"client-{uuid.uuid4()}"[:20] + "x"
    server.ledger.create_session(label=label, defaults={"capsule": "client-test"})
    return label


def failure(call) -> quire.QuireError:
    try:
        call()
    except quire.QuireError as error:
        return error
    raise AssertionError("the call succeeded")


def says(words: str) -> list:
    return [{"role": "MESSAGE_ROLE_USER", "parts": [quire.text(words)]}]


def an_error_has_reason_field_and_metadata() -> None:
    error = failure(lambda: server.ledger.get_session(session="nobody"))
    assert (error.code, error.reason, error.metadata) == ("NOT_FOUND", "SESSION_NOT_FOUND", {"session": "nobody"})
    error = failure(lambda: server.ledger.list_sessions(page_size=5_000))
    assert (error.reason, error.field, error.fields) == ("INVALID_FIELD", "page_size", ["page_size"])


def a_write_that_is_repeated_happens_once() -> None:
    label = session()
    first = server.ledger.record_turn(request_id=label, session=label, messages=says("Hello."))
    second = server.ledger.record_turn(request_id=label, session=label, messages=says("Hello."))
    assert first.turn.id == second.turn.id
    assert server.ledger.get_session(session=label).session.depth == 1


def a_server_that_is_not_there_is_waited_for_until_time_is_up() -> None:
    with quire.connect("127.0.0.1:1", timeout=0.3) as nobody:
        assert failure(nobody.ledger.list_sessions).code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")


def only_what_is_new_is_sent_and_the_whole_is_the_same() -> None:
    label = session()
    contexts = quire.Contexts(server)
    for turn in range(5):
        asked = {"session": label, "event": {"content": [quire.text(f"Question {turn}?")]}}
        folded = contexts.assemble(**asked)
        whole = server.assembly.build_context(context={**asked, "dry_run": True}).context
        assert list(folded.context.history) == list(whole.history)
        assert folded.context.system_prompt == whole.system_prompt and list(folded.context.tools) == list(whole.tools)
        assert folded.context.hashes.history == whole.hashes.history
        assert folded.sent_messages == (0 if turn == 0 else 2)
        answer = [{"role": "MESSAGE_ROLE_ASSISTANT", "parts": [quire.text(f"Answer {turn}.")]}]
        server.ledger.record_turn(
            session=label,
            assembly_id=folded.context.assembly_id,
            messages=says(f"Question {turn}?"),
            result={"messages": answer},
        )


def turns_at_the_same_time_take_turns_and_an_interrupted_one_says_so() -> None:
    label = session()
    outcomes = {}

    def one(at: int) -> None:
        agent = quire.Agent(server, session=label, model=model, tools=[echo])
        outcomes[at] = agent.turn(f'echo {{"words": "{at}"}}')

    threads = [threading.Thread(target=one, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {at: outcome.text for at, outcome in outcomes.items()} == {at: f"You said {at}." for at in range(4)}
    assert sorted(outcome.turn.depth for outcome in outcomes.values()) == [1, 2, 3, 4]

    begun, go_on = threading.Event(), threading.Event()

    def wait() -> str:
        begun.set()
        go_on.wait()
        return "too late"

    slow = quire.Tool("slow", "Waits.", {"type": "object"}, wait)
    errors = []
    first = quire.Agent(server, session=label, model=model, tools=[slow])
    thread = threading.Thread(target=lambda: errors.append(failure(lambda: first.turn("slow {}"))))
    thread.start()
    begun.wait()
    second = quire.Agent(server, session=label, model=model, tools=[echo], on_busy=OnBusy.ON_BUSY_INTERRUPT)
    assert second.turn("Stop.").turn.depth == 6
    go_on.set()
    thread.join()
    assert errors[0].reason == "INTERRUPTED"


class LeaseByHand(quire.LeasedTurn):
    """A lease that is renewed when the test says so."""

    def __init__(self, *given, **fields) -> None:
        self.waiting, self.due = threading.Semaphore(0), queue.SimpleQueue()
        super().__init__(*given, **fields)

    def _wait(self, seconds: float) -> bool:
        assert seconds == 10
        self.waiting.release()
        return self.due.get()


def a_lease_is_renewed_until_its_turn_ends_and_a_loss_is_told() -> None:
    label = session()
    turn = LeaseByHand(server, session=label, lease={"seconds": 30, "holder": "me"})
    turn.due.put(False)
    turn.due.put(False)
    for _ in range(3):
        turn.waiting.acquire()
    assert not turn.lost.is_set()
    busy = failure(lambda: quire.LeasedTurn(server, session=label))
    assert (busy.reason, busy.metadata["holder"], busy.metadata["turn_id"]) == ("SESSION_BUSY", "me", turn.id)
    turn.append(messages=says("Hello."))
    taken = quire.LeasedTurn(server, session=label, lease={"on_busy": "ON_BUSY_INTERRUPT"})
    turn.due.put(False)
    turn.lost.wait()
    assert failure(turn.check).reason == "INTERRUPTED"
    taken.fail("done")

    renewed = LeaseByHand(server, session=label, lease={"seconds": 30})
    renewed.append(messages=says("Again."))
    assert renewed.complete().turn.depth == 2
    renewed.due.put(False)  # A renewal that comes after the end is no loss.
    renewed._renewing.join()
    assert not renewed.lost.is_set()
    renewed.check()


def a_turn_that_fails_leaves_the_thread_alone() -> None:
    label = session()
    agent = quire.Agent(server, session=label, model=quire.anthropic(api_key="none", base_url=STAND_IN, model="gpt-6-sol"))
    try:
        agent.turn("Hello.")
        raise AssertionError("a turn for another provider's model succeeded")
    except quire.QuireError as error:
        assert error.reason == "INVALID_FIELD", error
    assert server.ledger.get_session(session=label).session.depth == 0
    assert quire.Agent(server, session=label, model=model).turn("Hello.").turn.depth == 1


def an_unknown_tool_and_a_tool_that_fails_are_told_to_the_model() -> None:
    broken = quire.Tool("broken", "Fails.", {"type": "object"}, lambda: 1 / 0)
    agent = quire.Agent(server, session=session(), model=model, tools=[broken])
    assert "division by zero" in agent.turn("broken {}").text


for name, rule in list(globals().items()):
    if "_" in name and name.islower() and getattr(rule, "__module__", "") == "__main__":
        rule()
        print("ok", name.replace("_", " "))
server.close()
