package example;

import quire.v1.Message;
import quire.v1.MessageRole;
import quire.v1.Part;
import quire.v1.TextPart;
import quire.v1.ToolCallPart;
import quire.v1.ToolResultContent;
import quire.v1.ToolResultPart;

final class Messages {
  private Messages() {}

  static Message says(MessageRole role, Part part) {
    return Message.newBuilder().setRole(role).addParts(part).build();
  }

  static Part text(String value) {
    return Part.newBuilder().setText(TextPart.newBuilder().setText(value)).build();
  }

  static Part call(String callId, String name, String argumentsJson) {
    var call = ToolCallPart.newBuilder().setCallId(callId).setName(name).setArgumentsJson(argumentsJson);
    return Part.newBuilder().setToolCall(call).build();
  }

  static Part result(String callId, String value) {
    var content = ToolResultContent.newBuilder().setText(TextPart.newBuilder().setText(value));
    var result = ToolResultPart.newBuilder().setCallId(callId).addContent(content);
    return Part.newBuilder().setToolResult(result).build();
  }
}
