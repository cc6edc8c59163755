package main

import quire "quire/examples/go/gen/quire/v1"

const (
	user      = quire.MessageRole_MESSAGE_ROLE_USER
	assistant = quire.MessageRole_MESSAGE_ROLE_ASSISTANT
	tool      = quire.MessageRole_MESSAGE_ROLE_TOOL
)

func says(role quire.MessageRole, parts ...*quire.Part) *quire.Message {
	return &quire.Message{Role: role, Parts: parts}
}

func text(value string) *quire.Part {
	return &quire.Part{Content: &quire.Part_Text{Text: &quire.TextPart{Text: value}}}
}

func call(id, name, argumentsJSON string) *quire.Part {
	part := &quire.ToolCallPart{CallId: id, Name: name, ArgumentsJson: argumentsJSON}
	return &quire.Part{Content: &quire.Part_ToolCall{ToolCall: part}}
}

func result(id, value string) *quire.Part {
	content := &quire.ToolResultContent{Content: &quire.ToolResultContent_Text{Text: &quire.TextPart{Text: value}}}
	part := &quire.ToolResultPart{CallId: id, Content: []*quire.ToolResultContent{content}}
	return &quire.Part{Content: &quire.Part_ToolResult{ToolResult: part}}
}
