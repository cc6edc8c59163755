package example;

import java.util.Iterator;
import java.util.stream.Collectors;
import quire.v1.AssembleResponse;
import quire.v1.AssembledContext;
import quire.v1.PromptSection;

final class Fold {
  private Fold() {}

  /** Puts the stream together. What was sent is final, so each layer can be used as soon as it is there. */
  static AssembledContext fold(Iterator<AssembleResponse> responses) {
    var context = AssembledContext.newBuilder();
    while (responses.hasNext()) {
      var response = responses.next();
      switch (response.getEventCase()) {
        case RESOLVED -> {
          var resolved = response.getResolved();
          context
              .setAssemblyId(resolved.getAssemblyId())
              .setParentTurnId(resolved.getParentTurnId())
              .setModel(resolved.getModel());
          var available = resolved.getBudget().getAvailable();
          print("resolved   %s, %d tokens available", resolved.getModel(), available);
        }
        case TOOLS -> {
          var layer = response.getTools();
          context.addAllTools(layer.getToolsList());
          print("tools      %5d tokens", layer.getTokens());
        }
        case SYSTEM -> {
          var layer = response.getSystem();
          context.setSystemPrompt(layer.getText());
          var names = layer.getSectionsList().stream().map(PromptSection::getName);
          print("system     %5d tokens: %s", layer.getTokens(), names.collect(Collectors.joining(", ")));
        }
        case HISTORY -> {
          var batch = response.getHistory();
          context.addAllHistory(batch.getMessagesList());
          if (batch.hasLayer()) { // The first batch describes the whole layer.
            var layer = batch.getLayer();
            print("history    %5d tokens: %d turns", layer.getTokens(), layer.getTurns());
          }
        }
        case CURRENT_MESSAGE -> {
          context.setCurrentMessage(response.getCurrentMessage().getMessage());
          print("current    %5d tokens", response.getCurrentMessage().getTokens());
        }
        case COMPLETED -> {
          var budget = response.getCompleted().getBudget();
          context.setTokenBudget(budget);
          print("completed  %5d tokens used, %d left", budget.getUsed().getTotal(), budget.getRemaining());
        }
        default -> {} // A compaction, a rendered body, or what a newer server has to say.
      }
    }
    return context.build();
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(format, values));
  }
}
