//! One agent with Quire, from its definition to its second turn: cargo run [address]

mod fold;
mod messages;
/// What `build.rs` makes of the contract.
mod quire {
    tonic::include_proto!("quire.v1");
}

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use fold::fold;
use messages::{call, result, says, text};
use quire::{
    AgentEvent, AgentResult, AssembleRequest, BuildContextRequest, CapsuleBody, ContextRequest,
    CreateSessionRequest, EventSource, GetTurnRequest, MessageRole, ModelDefaults, Persona,
    PutCapsuleRequest, RecordTurnRequest, Tool, WatchSessionRequest,
    assembly_service_client::AssemblyServiceClient, capsule_service_client::CapsuleServiceClient,
    get_turn_response::Found, ledger_service_client::LedgerServiceClient,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .or_else(|| std::env::var("QUIRE_ADDRESS").ok())
        .unwrap_or_else(|| "127.0.0.1:50051".into());
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect().await?;
    let mut capsules = CapsuleServiceClient::new(channel.clone());
    let mut ledger = LedgerServiceClient::new(channel.clone());
    let mut assembly = AssemblyServiceClient::new(channel);
    let label = format!("rust-{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos());

    // Who the agent is. A write with a request id happens once, however often it is sent.
    let persona = Persona {
        core_prompt: "You are Atlas. You find orders.".into(),
        model: Some(ModelDefaults { model: "gpt-5".into(), provider: "openai".into(), ..Default::default() }),
        ..Default::default()
    };
    let put = PutCapsuleRequest {
        request_id: format!("{label}-capsule"),
        name: label.clone(),
        body: Some(CapsuleBody { persona: Some(persona), ..Default::default() }),
        ..Default::default()
    };
    capsules.put_capsule(in_time(put)).await?;
    let create = CreateSessionRequest { label: label.clone(), ..Default::default() };
    ledger.create_session(in_time(create)).await?;

    // A turn: what came in, and what the agent did.
    let turn = RecordTurnRequest {
        request_id: format!("{label}-1"),
        session: label.clone(),
        messages: vec![says(MessageRole::User, text("Where is my order?"))],
        result: Some(AgentResult {
            messages: vec![
                says(MessageRole::Assistant, call("call_1", "find_order", r#"{"user": 42}"#)),
                says(MessageRole::Tool, result("call_1", "shipped")),
                says(MessageRole::Assistant, text("It was shipped this morning.")),
            ],
            ..Default::default()
        }),
        ..Default::default()
    };
    let first = ledger.record_turn(in_time(turn)).await?.into_inner();

    // What should the model see now? Layer by layer, or the same at once.
    let question = text("When will it be here?");
    let event = AgentEvent {
        source: EventSource::Human.into(),
        content: vec![question.clone()],
        timezone: "Europe/Vienna".into(),
        ..Default::default()
    };
    let tool = Tool {
        name: "find_order".into(),
        description: "Finds an order.".into(),
        input_schema_json: r#"{"type": "object"}"#.into(),
        ..Default::default()
    };
    let context = ContextRequest {
        session: label.clone(),
        capsule: Some(label.clone()),
        event: Some(event),
        tools: vec![tool.clone()],
        ..Default::default()
    };
    let assemble = AssembleRequest { context: Some(context.clone()) };
    let folded = fold(assembly.assemble(in_time(assemble)).await?.into_inner()).await?;
    let build = BuildContextRequest { context: Some(context), ..Default::default() };
    let built = assembly.build_context(in_time(build)).await?.into_inner().context.ok_or("no context")?;
    assert_eq!(folded.parent_turn_id, first.head_turn_id);
    assert_eq!(folded.system_prompt, built.system_prompt);
    assert!(folded.system_prompt.contains("You are Atlas."));
    assert_eq!(folded.tools, [tool]);
    assert_eq!(folded.tools, built.tools);
    assert_eq!(folded.history.len(), 4);
    assert_eq!(folded.history, built.history);
    // The time is in `context_parts`, and has moved on between the two calls. The event's own content is
    // untouched.
    let current = folded.current_message.ok_or("no current message")?;
    assert_eq!(current.parts, vec![question.clone()]);
    assert_eq!(current.parts, built.current_message.ok_or("no current message")?.parts);

    // The turn that answers it. With its assembly id, what was sent before the user's words is kept with
    // them.
    let turn = RecordTurnRequest {
        request_id: format!("{label}-2"),
        session: label.clone(),
        assembly_id: Some(folded.assembly_id),
        messages: vec![says(MessageRole::User, question)],
        result: Some(AgentResult {
            messages: vec![says(MessageRole::Assistant, text("On Thursday."))],
            ..Default::default()
        }),
        ..Default::default()
    };
    let second = ledger.record_turn(in_time(turn)).await?.into_inner();
    let recorded = second.turn.ok_or("no turn")?;
    let get = GetTurnRequest { turn_id: recorded.id };
    let Some(Found::Recorded(kept)) = ledger.get_turn(in_time(get)).await?.into_inner().found else {
        return Err("the turn is not there".into());
    };
    assert_eq!(kept.result.unwrap_or_default().messages[0].context_parts, current.context_parts);
    println!("recorded   turn {}, with the context that was sent", recorded.depth);

    // An error says what is wrong, and where. Nothing was written.
    let orphan = RecordTurnRequest {
        session: label.clone(),
        parent_turn_id: Some(second.head_turn_id),
        messages: vec![says(MessageRole::Tool, result("call_9", "?"))],
        ..Default::default()
    };
    let refused = ledger.record_turn(in_time(orphan)).await.expect_err("a result without a call was taken");
    let (reason, fields) = reason_and_fields(&refused);
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(reason, "ORPHAN_TOOL_RESULT");
    assert_eq!(fields, ["messages[0].parts[0].tool_result.call_id"]);
    println!("refused    {reason} {fields:?}");

    // A watch has no end of its own: it lasts until its deadline.
    let mut watch = Request::new(WatchSessionRequest { session: label, ..Default::default() });
    watch.set_timeout(Duration::from_millis(100));
    let watching = async {
        let mut moves = ledger.watch_session(watch).await?.into_inner();
        while moves.message().await?.is_some() {}
        Ok::<_, Status>(())
    };
    let late = watching.await.expect_err("the deadline was not respected");
    // The server's word for it. Cancelled is tonic's own, for a deadline that passes before any answer.
    assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late}");
    println!("deadline   {:?}", late.code());
    Ok(())
}

/// Every call has a deadline; the server stops its work when that passes.
fn in_time<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_secs(10));
    request
}

/// What went wrong, by name, and where in the request.
fn reason_and_fields(status: &Status) -> (String, Vec<String>) {
    let details = status.get_error_details();
    let reason = details.error_info().map(|info| info.reason.clone()).unwrap_or_default();
    let violations = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
    (reason, violations.into_iter().map(|violation| violation.field).collect())
}
