use crate::quire::{
    Message, MessageRole, Part, TextPart, ToolCallPart, ToolResultContent, ToolResultPart, part,
    tool_result_content,
};

pub fn says(role: MessageRole, part: Part) -> Message {
    Message { role: role.into(), parts: vec![part], ..Default::default() }
}

pub fn text(value: &str) -> Part {
    let text = TextPart { text: value.into() };
    Part { content: Some(part::Content::Text(text)), ..Default::default() }
}

pub fn call(call_id: &str, name: &str, arguments_json: &str) -> Part {
    let call = ToolCallPart {
        call_id: call_id.into(),
        name: name.into(),
        arguments_json: arguments_json.into(),
        ..Default::default()
    };
    Part { content: Some(part::Content::ToolCall(call)), ..Default::default() }
}

pub fn result(call_id: &str, value: &str) -> Part {
    let text = TextPart { text: value.into() };
    let content = ToolResultContent { content: Some(tool_result_content::Content::Text(text)) };
    let result = ToolResultPart { call_id: call_id.into(), content: vec![content], ..Default::default() };
    Part { content: Some(part::Content::ToolResult(result)), ..Default::default() }
}
