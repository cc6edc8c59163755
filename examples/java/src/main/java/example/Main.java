package example;

import static example.Fold.fold;
import static example.Messages.call;
import static example.Messages.result;
import static example.Messages.says;
import static example.Messages.text;
import static quire.v1.MessageRole.MESSAGE_ROLE_ASSISTANT;
import static quire.v1.MessageRole.MESSAGE_ROLE_TOOL;
import static quire.v1.MessageRole.MESSAGE_ROLE_USER;

import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.AbstractStub;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import quire.v1.AgentEvent;
import quire.v1.AgentResult;
import quire.v1.AssembleRequest;
import quire.v1.AssemblyServiceGrpc;
import quire.v1.BuildContextRequest;
import quire.v1.CapsuleBody;
import quire.v1.CapsuleServiceGrpc;
import quire.v1.ContextRequest;
import quire.v1.CreateSessionRequest;
import quire.v1.EventSource;
import quire.v1.GetTurnRequest;
import quire.v1.LedgerServiceGrpc;
import quire.v1.ModelDefaults;
import quire.v1.Persona;
import quire.v1.PutCapsuleRequest;
import quire.v1.RecordTurnRequest;
import quire.v1.Tool;
import quire.v1.WatchSessionRequest;

/**
 * One agent with Quire, from its definition to its second turn: mvn compile exec:java -Dexec.args=[address]
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    var fallback = System.getenv().getOrDefault("QUIRE_ADDRESS", "127.0.0.1:50051");
    var address = arguments.length > 0 ? arguments[0] : fallback;
    var channel = Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()).build();
    try {
      run(channel);
    } finally {
      channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
  }

  private static void run(Channel channel) throws InvalidProtocolBufferException {
    var capsules = CapsuleServiceGrpc.newBlockingStub(channel);
    var ledger = LedgerServiceGrpc.newBlockingStub(channel);
    var assembly = AssemblyServiceGrpc.newBlockingStub(channel);
    var label = "java-" + UUID.randomUUID();

    // Who the agent is. A write with a request id happens once, however often it is sent.
    var persona = Persona.newBuilder()
        .setCorePrompt("You are Atlas. You find orders.")
        .setModel(ModelDefaults.newBuilder().setModel("gpt-5").setProvider("openai"));
    var put = PutCapsuleRequest.newBuilder()
        .setRequestId(label + "-capsule")
        .setName(label)
        .setBody(CapsuleBody.newBuilder().setPersona(persona));
    inTime(capsules).putCapsule(put.build());
    inTime(ledger).createSession(CreateSessionRequest.newBuilder().setLabel(label).build());

    // A turn: what came in, and what the agent did.
    var did = AgentResult.newBuilder()
        .addMessages(says(MESSAGE_ROLE_ASSISTANT, call("call_1", "find_order", "{\"user\": 42}")))
        .addMessages(says(MESSAGE_ROLE_TOOL, result("call_1", "shipped")))
        .addMessages(says(MESSAGE_ROLE_ASSISTANT, text("It was shipped this morning.")));
    var turn = RecordTurnRequest.newBuilder()
        .setRequestId(label + "-1")
        .setSession(label)
        .addMessages(says(MESSAGE_ROLE_USER, text("Where is my order?")))
        .setResult(did);
    var first = inTime(ledger).recordTurn(turn.build());

    // What should the model see now? Layer by layer, or the same at once.
    var question = text("When will it be here?");
    var event = AgentEvent.newBuilder()
        .setSource(EventSource.EVENT_SOURCE_HUMAN)
        .addContent(question)
        .setTimezone("Europe/Vienna");
    var tool = Tool.newBuilder()
        .setName("find_order")
        .setDescription("Finds an order.")
        .setInputSchemaJson("{\"type\": \"object\"}")
        .build();
    var context = ContextRequest.newBuilder()
        .setSession(label)
        .setCapsule(label)
        .setEvent(event)
        .addTools(tool);
    var folded = fold(inTime(assembly).assemble(AssembleRequest.newBuilder().setContext(context).build()));
    var build = BuildContextRequest.newBuilder().setContext(context).build();
    var built = inTime(assembly).buildContext(build).getContext();
    check(folded.getParentTurnId().equals(first.getHeadTurnId()), "the parent is not the head");
    check(folded.getSystemPrompt().contains("You are Atlas."), "the agent does not know who it is");
    check(folded.getSystemPrompt().equals(built.getSystemPrompt()), "the system prompts differ");
    check(folded.getToolsList().equals(List.of(tool)), "the tool is not there");
    check(folded.getToolsList().equals(built.getToolsList()), "the tools differ");
    check(folded.getHistoryCount() == 4, "the history is not whole");
    check(folded.getHistoryList().equals(built.getHistoryList()), "the histories differ");
    // The time is in the context parts, and has moved on between the two calls. The event's own content is
    // untouched.
    var current = folded.getCurrentMessage();
    check(current.getPartsList().equals(List.of(question)), "the question was changed");
    check(built.getCurrentMessage().getPartsList().equals(List.of(question)), "the question was changed");

    // The turn that answers it. With its assembly id, what was sent before the user's words is kept with
    // them.
    var answer = RecordTurnRequest.newBuilder()
        .setRequestId(label + "-2")
        .setSession(label)
        .setAssemblyId(folded.getAssemblyId())
        .addMessages(says(MESSAGE_ROLE_USER, question))
        .setResult(AgentResult.newBuilder().addMessages(says(MESSAGE_ROLE_ASSISTANT, text("On Thursday."))));
    var second = inTime(ledger).recordTurn(answer.build());
    var get = GetTurnRequest.newBuilder().setTurnId(second.getTurn().getId()).build();
    var kept = inTime(ledger).getTurn(get).getRecorded().getResult().getMessages(0).getContextPartsList();
    check(kept.equals(current.getContextPartsList()), "the context that was sent is not kept");
    System.out.println("recorded   turn " + second.getTurn().getDepth() + ", with the context that was sent");

    // An error says what is wrong, and where. Nothing was written.
    var orphan = RecordTurnRequest.newBuilder()
        .setSession(label)
        .setParentTurnId(second.getHeadTurnId())
        .addMessages(says(MESSAGE_ROLE_TOOL, result("call_9", "?")))
        .build();
    var refused = failure(() -> inTime(ledger).recordTurn(orphan));
    var refusal = Refusal.of(refused);
    var expected = new Refusal("ORPHAN_TOOL_RESULT", List.of("messages[0].parts[0].tool_result.call_id"));
    check(refused.getStatus().getCode() == Status.Code.INVALID_ARGUMENT, "refused as " + refused.getStatus());
    check(refusal.equals(expected), "refused for " + refusal);
    System.out.println("refused    " + refusal.reason() + " " + refusal.fields());

    // A watch has no end of its own: it lasts until its deadline.
    var watch = WatchSessionRequest.newBuilder().setSession(label).build();
    var hurried = ledger.withDeadlineAfter(Duration.ofMillis(100));
    var late = failure(() -> hurried.watchSession(watch).forEachRemaining(moved -> {}));
    var code = late.getStatus().getCode();
    check(code == Status.Code.DEADLINE_EXCEEDED, "the deadline was not respected: " + late.getStatus());
    System.out.println("deadline   " + code);
  }

  /** Every call has a deadline; the server stops its work when that passes. */
  private static <S extends AbstractStub<S>> S inTime(S stub) {
    return stub.withDeadlineAfter(Duration.ofSeconds(10));
  }

  /** The error of a call that must fail. */
  private static StatusRuntimeException failure(Runnable call) {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      return error;
    }
    throw new IllegalStateException("the call succeeded");
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) throw new IllegalStateException(otherwise);
  }
}
