use tonic::{Status, Streaming};

use crate::quire::{AssembleResponse, AssembledContext, assemble_response::Event};

/// Puts the stream together. What was sent is final, so each layer can be used as soon as it is there.
pub async fn fold(mut stream: Streaming<AssembleResponse>) -> Result<AssembledContext, Status> {
    let mut context = AssembledContext::default();
    while let Some(response) = stream.message().await? {
        match response.event {
            Some(Event::Resolved(resolved)) => {
                let available = resolved.budget.unwrap_or_default().available;
                println!("resolved   {}, {available} tokens available", resolved.model);
                context.assembly_id = resolved.assembly_id;
                context.parent_turn_id = resolved.parent_turn_id;
                context.model = resolved.model;
            }
            Some(Event::Tools(layer)) => {
                println!("tools      {:5} tokens", layer.tokens);
                context.tools = layer.tools;
            }
            Some(Event::System(layer)) => {
                let names: Vec<_> = layer.sections.iter().map(|section| section.name.as_str()).collect();
                println!("system     {:5} tokens: {}", layer.tokens, names.join(", "));
                context.system_prompt = layer.text;
            }
            Some(Event::History(batch)) => {
                // The first batch describes the whole layer.
                if let Some(layer) = batch.layer {
                    println!("history    {:5} tokens: {} turns", layer.tokens, layer.turns);
                }
                context.history.extend(batch.messages);
            }
            Some(Event::CurrentMessage(current)) => {
                println!("current    {:5} tokens", current.tokens);
                context.current_message = current.message;
            }
            Some(Event::Completed(completed)) => {
                let budget = completed.budget.unwrap_or_default();
                let total = budget.used.unwrap_or_default().total;
                println!("completed  {total:5} tokens used, {} left", budget.remaining);
                context.token_budget = Some(budget);
            }
            // A compaction, a rendered body, or what a newer server has to say.
            _ => {}
        }
    }
    Ok(context)
}
