// One agent with Quire, from its definition to its second turn: go run . [address]
//
// The stubs, after mkdir gen, with what `go install tool` gives on the path:
//
//	protoc -I ../../contract --go_out=gen --go_opt=paths=source_relative \
//	  --go-grpc_out=gen --go-grpc_opt=paths=source_relative ../../contract/quire/v1/*.proto
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	quire "quire/examples/go/gen/quire/v1"
)

func main() {
	address := "127.0.0.1:50051"
	if fromEnv := os.Getenv("QUIRE_ADDRESS"); fromEnv != "" {
		address = fromEnv
	}
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(address); err != nil {
		log.Fatal(err)
	}
}

func run(address string) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	capsules := quire.NewCapsuleServiceClient(connection)
	ledger := quire.NewLedgerServiceClient(connection)
	assembly := quire.NewAssemblyServiceClient(connection)

	// Every call has a deadline; the server stops its work when that passes.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	label := fmt.Sprintf("go-%d", time.Now().UnixNano())

	// Who the agent is. A write with a request id happens once, however often it is sent.
	persona := &quire.Persona{
		CorePrompt: "You are Atlas. You find orders.",
		Model:      &quire.ModelDefaults{Model: "gpt-5", Provider: "openai"},
	}
	put := &quire.PutCapsuleRequest{RequestId: label + "-capsule", Name: label, Body: &quire.CapsuleBody{Persona: persona}}
	if _, err := capsules.PutCapsule(ctx, put); err != nil {
		return err
	}
	if _, err := ledger.CreateSession(ctx, &quire.CreateSessionRequest{Label: label}); err != nil {
		return err
	}

	// A turn: what came in, and what the agent did.
	first, err := ledger.RecordTurn(ctx, &quire.RecordTurnRequest{
		RequestId: label + "-1",
		Session:   label,
		Messages:  []*quire.Message{says(user, text("Where is my order?"))},
		Result: &quire.AgentResult{Messages: []*quire.Message{
			says(assistant, call("call_1", "find_order", `{"user": 42}`)),
			says(tool, result("call_1", "shipped")),
			says(assistant, text("It was shipped this morning.")),
		}},
	})
	if err != nil {
		return err
	}

	// What should the model see now? Layer by layer, or the same at once.
	question := text("When will it be here?")
	request := &quire.ContextRequest{
		Session: label,
		Capsule: &label,
		Event: &quire.AgentEvent{
			Source:   quire.EventSource_EVENT_SOURCE_HUMAN,
			Content:  []*quire.Part{question},
			Timezone: "Europe/Vienna",
		},
		Tools: []*quire.Tool{{Name: "find_order", Description: "Finds an order.", InputSchemaJson: `{"type": "object"}`}},
	}
	stream, err := assembly.Assemble(ctx, &quire.AssembleRequest{Context: request})
	if err != nil {
		return err
	}
	folded, err := fold(stream)
	if err != nil {
		return err
	}
	answer, err := assembly.BuildContext(ctx, &quire.BuildContextRequest{Context: request})
	if err != nil {
		return err
	}
	if err := compare(folded, answer.Context, first.HeadTurnId); err != nil {
		return err
	}

	// The turn that answers it. With its assembly id, what was sent before the user's words is kept with them.
	second, err := ledger.RecordTurn(ctx, &quire.RecordTurnRequest{
		RequestId:  label + "-2",
		Session:    label,
		AssemblyId: &folded.AssemblyId,
		Messages:   []*quire.Message{says(user, question)},
		Result:     &quire.AgentResult{Messages: []*quire.Message{says(assistant, text("On Thursday."))}},
	})
	if err != nil {
		return err
	}
	kept, err := ledger.GetTurn(ctx, &quire.GetTurnRequest{TurnId: second.Turn.Id})
	if err != nil {
		return err
	}
	if !equal(kept.GetRecorded().Result.Messages[0].ContextParts, folded.CurrentMessage.ContextParts) {
		return fmt.Errorf("the context that was sent is not kept")
	}
	fmt.Printf("recorded   turn %d, with the context that was sent\n", second.Turn.Depth)

	// An error says what is wrong, and where. Nothing was written.
	_, err = ledger.RecordTurn(ctx, &quire.RecordTurnRequest{
		Session:      label,
		ParentTurnId: &second.HeadTurnId,
		Messages:     []*quire.Message{says(tool, result("call_9", "?"))},
	})
	reason, fields := reasonAndFields(err)
	if reason != "ORPHAN_TOOL_RESULT" || fields[0] != "messages[0].parts[0].tool_result.call_id" {
		return fmt.Errorf("a result without a call: %w", err)
	}
	fmt.Println("refused   ", reason, fields)

	// A watch has no end of its own: it lasts until its deadline.
	short, cancelShort := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancelShort()
	watch, err := ledger.WatchSession(short, &quire.WatchSessionRequest{Session: label})
	for err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		return fmt.Errorf("the deadline was not respected: %w", err)
	}
	fmt.Println("deadline  ", status.Code(err))
	return nil
}

// fold puts the stream together. What was sent is final, so each layer can be used as soon as it is there.
func fold(stream grpc.ServerStreamingClient[quire.AssembleResponse]) (*quire.AssembledContext, error) {
	folded := &quire.AssembledContext{}
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return folded, nil
		}
		if err != nil {
			return nil, err
		}
		switch event := response.Event.(type) {
		case *quire.AssembleResponse_Resolved:
			resolved := event.Resolved
			folded.AssemblyId, folded.ParentTurnId, folded.Model = resolved.AssemblyId, resolved.ParentTurnId, resolved.Model
			fmt.Printf("resolved   %s, %d tokens available\n", resolved.Model, resolved.Budget.Available)
		case *quire.AssembleResponse_Tools:
			folded.Tools = event.Tools.Tools
			fmt.Printf("tools      %5d tokens\n", event.Tools.Tokens)
		case *quire.AssembleResponse_System:
			folded.SystemPrompt = event.System.Text
			fmt.Printf("system     %5d tokens in %d sections\n", event.System.Tokens, len(event.System.Sections))
		case *quire.AssembleResponse_History:
			folded.History = append(folded.History, event.History.Messages...)
			if layer := event.History.Layer; layer != nil { // The first batch describes the whole layer.
				fmt.Printf("history    %5d tokens: %d turns\n", layer.Tokens, layer.Turns)
			}
		case *quire.AssembleResponse_CurrentMessage:
			folded.CurrentMessage = event.CurrentMessage.Message
			fmt.Printf("current    %5d tokens\n", event.CurrentMessage.Tokens)
		case *quire.AssembleResponse_Completed:
			budget := event.Completed.Budget
			folded.TokenBudget = budget
			fmt.Printf("completed  %5d tokens used, %d left\n", budget.Used.Total, budget.Remaining)
		}
	}
}

// compare says how two contexts for the same request differ. The time is in ContextParts, and has moved on between them.
func compare(folded, built *quire.AssembledContext, head string) error {
	switch {
	case folded.ParentTurnId != head || built.ParentTurnId != head:
		return fmt.Errorf("the parent is not the head %s", head)
	case folded.SystemPrompt == "" || folded.SystemPrompt != built.SystemPrompt:
		return fmt.Errorf("the system prompts differ")
	case len(folded.Tools) != 1 || !equal(folded.Tools, built.Tools):
		return fmt.Errorf("the tools differ")
	case len(folded.History) != 4 || !equal(folded.History, built.History):
		return fmt.Errorf("the histories differ")
	case !equal(folded.CurrentMessage.Parts, built.CurrentMessage.Parts):
		return fmt.Errorf("the current messages differ")
	}
	return nil
}

// reasonAndFields gives what went wrong, by name, and where in the request.
func reasonAndFields(err error) (reason string, fields []string) {
	for _, detail := range status.Convert(err).Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			reason = detail.Reason
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				fields = append(fields, violation.Field)
			}
		}
	}
	return reason, fields
}

func equal[M proto.Message](a, b []M) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !proto.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
