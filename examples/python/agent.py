"""A whole agent: two tools, streaming, memory, a worker, contexts that never overflow. Each line of its input is a turn.

    python agent.py [session]

It talks to the provider whose key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY), else to the stand-in (npm run provider).
"""

import os
import sys
from pathlib import Path

import quire

PROVIDERS = {
    "anthropic": (quire.anthropic, "claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
    "openai": (quire.openai, "gpt-6-sol", "OPENAI_API_KEY"),
    "openai-chat": (quire.openai_chat, "gpt-6-sol", "OPENAI_API_KEY"),
    "gemini": (quire.gemini, "gemini-4-argon", "GEMINI_API_KEY"),
}
FOLDER = Path(os.environ.get("AGENT_FOLDER", "agent-files")).resolve()
PATH = {"type": "string", "description": "The file, relative to the agent's folder."}
PROMPT = "You are a clerk, who keeps the files of a small company. Write down in your notes what you will need later."


def model() -> quire.Model:
    with_key = next((name for name, (_, _, key) in PROVIDERS.items() if os.environ.get(key)), "anthropic")
    chosen = os.environ.get("AGENT_PROVIDER", with_key)
    if chosen not in PROVIDERS:
        sys.exit(f"AGENT_PROVIDER is one of {', '.join(PROVIDERS)}")
    make, name, key = PROVIDERS[chosen]
    api_key = os.environ.get(key)
    url = os.environ.get("AGENT_MODEL_URL") or (None if api_key else "http://127.0.0.1:8080")
    return make(model=os.environ.get("AGENT_MODEL", name), api_key=api_key or "none", **({"base_url": url} if url else {}))


def inside(name: str) -> Path:
    """A path inside the agent's folder."""
    file = (FOLDER / name).resolve()
    if not file.is_relative_to(FOLDER):
        raise ValueError(f"{name} is outside of the folder")
    return file


def write_file(path: str, text: str) -> str:
    inside(path).parent.mkdir(parents=True, exist_ok=True)
    return f"wrote {inside(path).write_text(text)} characters to {path}"


READ = quire.Tool(
    name="read_file",
    description="Reads a text file.",
    schema={"type": "object", "properties": {"path": PATH}, "required": ["path"]},
    run=lambda path: inside(path).read_text(),
)
WRITE = quire.Tool(
    name="write_file",
    description="Writes a text file, in place of what it held.",
    schema={"type": "object", "properties": {"path": PATH, "text": {"type": "string"}}, "required": ["path", "text"]},
    run=write_file,
)


def main(session: str) -> None:
    with quire.connect(os.environ.get("QUIRE_ADDRESS", "127.0.0.1:50051")) as server:
        body = {"persona": {"core_prompt": PROMPT, "memory": {"tools": True}}}
        # Later calls wait a minute for a server that is away; the first one says sooner that there is none.
        server.capsules.put_capsule(name="clerk", body=body, timeout=10)
        try:
            server.memory.create_block(block={"owner": {"name": "clerk"}, "label": "notes"}, type="BLOCK_TYPE_CORE")
        except quire.QuireError as error:
            if error.reason != "BLOCK_EXISTS":
                raise
        tools = [READ, WRITE, quire.worker_tool(tools=[READ])]
        agent = quire.Agent(server, session=session, capsule="clerk", model=model(), tools=tools)
        for line in sys.stdin:
            if not line.strip():
                continue
            done = agent.turn(
                line.strip(),
                on_text=lambda piece: print(piece, end="", flush=True),
                on_call=lambda call: print(f"\n> {call.name} {call.arguments_json[:100]}"),
            )
            print(f"\n[turn {done.turn.depth}, model called {done.steps} times]")


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "office")
    except (quire.QuireError, quire.ProviderError) as failed:
        sys.exit(f"{type(failed).__name__}: {failed}")
