package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	quire "quire/examples/go/gen/quire/v1"
)

type Server struct {
	Ledger   quire.LedgerServiceClient
	Capsules quire.CapsuleServiceClient
	Memory   quire.MemoryServiceClient
	Assembly quire.AssemblyServiceClient
}

func connect(address string) (*Server, error) {
	delays := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, MaxDelay: 2 * time.Second}
	connection, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: delays, MinConnectTimeout: time.Second}),
		grpc.WithUnaryInterceptor(repeated))
	if err != nil {
		return nil, err
	}
	return &Server{
		quire.NewLedgerServiceClient(connection), quire.NewCapsuleServiceClient(connection),
		quire.NewMemoryServiceClient(connection), quire.NewAssemblyServiceClient(connection),
	}, nil
}

// Calls are repeated for a minute while the server cannot be reached or asks for it. A write has a request id, so that it happens once.
func repeated(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	message := request.(proto.Message).ProtoReflect()
	if field := message.Descriptor().Fields().ByName("request_id"); field != nil && message.Get(field).String() == "" {
		message.Set(field, protoreflect.ValueOfString(rand.Text()))
	}
	end := time.Now().Add(time.Minute)
	if deadline, has := ctx.Deadline(); has {
		end = deadline
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := call(ctx, method, request, reply, connection, options...)
		// Without a reason it is not Quire that answered: a connection was refused or broke.
		reason, code := reasonOf(err), status.Code(err)
		mayPass := reason == "SERVER_BUSY" || code == codes.Unavailable && reason != "DATABASE_LOST" || code == codes.Internal && reason == ""
		if err == nil || !mayPass || time.Now().Add(pause).After(end) {
			return err
		}
		jitter, _ := rand.Int(rand.Reader, big.NewInt(int64(pause/2)))
		time.Sleep(pause/2 + time.Duration(jitter.Int64()))
	}
}

func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

type Tool struct {
	Name, Description, Schema string
	Run                       func(ctx context.Context, arguments []byte) (string, error)
}

type Agent struct {
	*Server
	Session, Capsule string
	Model            Model
	Tools            []Tool
}

// One turn: take the session, make the context, call the model, record its answer, carry its calls out, until there are none.
func (a *Agent) Turn(ctx context.Context, words string) (*quire.Turn, error) {
	create := &quire.CreateSessionRequest{Label: a.Session, GetIfExists: true, Defaults: &quire.SessionDefaults{Capsule: &a.Capsule}}
	if _, err := a.Ledger.GetSession(ctx, &quire.GetSessionRequest{Session: a.Session}); reasonOf(err) == "SESSION_NOT_FOUND" {
		if _, err := a.Ledger.CreateSession(ctx, create); err != nil {
			return nil, err
		}
	}
	lease := &quire.LeaseRequest{OnBusy: quire.OnBusy_ON_BUSY_WAIT}
	begun, err := a.Ledger.BeginTurn(ctx, &quire.BeginTurnRequest{Session: a.Session, Lease: lease})
	if err != nil {
		return nil, err
	}
	id := begun.Turn.Id
	held, release := context.WithCancel(ctx)
	defer release()
	go a.renew(held, release, id)
	if err := a.loop(held, id, words); err != nil {
		if reasonOf(err) != "INTERRUPTED" {
			failed := &quire.CompleteTurnRequest{TurnId: id, Status: quire.TurnStatus_TURN_STATUS_FAILED}
			_, _ = a.Ledger.CompleteTurn(ctx, failed)
		}
		return nil, err
	}
	completed, err := a.Ledger.CompleteTurn(ctx, &quire.CompleteTurnRequest{TurnId: id})
	return completed.GetTurn(), err
}

func (a *Agent) renew(held context.Context, release func(), id string) {
	for {
		select {
		case <-held.Done():
			return
		case <-time.After(20 * time.Second):
			_, err := a.Ledger.RenewLease(held, &quire.RenewLeaseRequest{TurnId: id})
			if reason := reasonOf(err); reason == "INTERRUPTED" || reason == "LEASE_LOST" || reason == "TURN_NOT_OPEN" {
				release()
			}
		}
	}
}

func (a *Agent) loop(ctx context.Context, id, words string) error {
	part := &quire.Part{Content: &quire.Part_Text{Text: &quire.TextPart{Text: words}}}
	event := &quire.AgentEvent{Content: []*quire.Part{part}}
	messages := []*quire.Message{{Role: quire.MessageRole_MESSAGE_ROLE_USER, Parts: []*quire.Part{part}}}
	for {
		assembled, response, err := a.ask(ctx, id, event)
		if err != nil {
			return err
		}
		append := &quire.AppendMessagesRequest{TurnId: id, AssemblyId: &assembled.AssemblyId, Messages: messages, Response: response}
		recorded, err := a.Ledger.AppendMessages(ctx, append)
		if err != nil || len(recorded.Answer.ToolCalls) == 0 {
			return err
		}
		event, messages = nil, nil
		results := make([]*quire.ToolOutput, len(recorded.Answer.ToolCalls))
		for at, call := range recorded.Answer.ToolCalls {
			fmt.Printf("\n> %s %.100s\n", call.Name, call.ArgumentsJson)
			if results[at], err = a.run(ctx, assembled.Capsule, call); err != nil {
				return err
			}
		}
		if _, err := a.Ledger.AppendMessages(ctx, &quire.AppendMessagesRequest{TurnId: id, ToolResults: results}); err != nil {
			return err
		}
	}
}

// A context, and what the model says to it. A context that is too long for the model is reported, and made again.
func (a *Agent) ask(ctx context.Context, id string, event *quire.AgentEvent) (*quire.AssembledContext, *quire.ProviderResponse, error) {
	request := &quire.ContextRequest{Session: a.Session, Event: event, Model: &a.Model.Name, ActiveTurnId: id, Render: a.Model.Format, BodyOnly: true}
	if a.Capsule != "" {
		request.Capsule = &a.Capsule
	}
	for _, tool := range a.Tools {
		request.Tools = append(request.Tools, &quire.Tool{Name: tool.Name, Description: tool.Description, InputSchemaJson: tool.Schema})
	}
	for overflows := 0; ; overflows++ {
		built, err := a.Assembly.BuildContext(ctx, &quire.BuildContextRequest{Context: request})
		if err != nil {
			return nil, nil, err
		}
		body, err := a.Model.call(ctx, built.Rendered.Body)
		if err == nil {
			return built.Context, &quire.ProviderResponse{Format: a.Model.Format, Body: body}, nil
		}
		var refused *ProviderError
		if !errors.As(err, &refused) || !refused.isOverflow() || overflows == 3 {
			return nil, nil, err
		}
		report := &quire.ReportOverflowRequest{AssemblyId: &built.Context.AssemblyId, ErrorBody: refused.Body}
		if _, err := a.Assembly.ReportOverflow(ctx, report); err != nil && reasonOf(err) != "COMPACTION_OUTDATED" {
			return nil, nil, err
		}
	}
}

// Carries a call out. What goes wrong in a tool is told to the model; tools that are not the agent's own are the server's.
func (a *Agent) run(ctx context.Context, capsule string, call *quire.ToolCallPart) (*quire.ToolOutput, error) {
	for _, tool := range a.Tools {
		if tool.Name != call.Name {
			continue
		}
		text, err := tool.Run(ctx, []byte(call.ArgumentsJson))
		if err != nil {
			return &quire.ToolOutput{CallId: call.CallId, Text: err.Error(), IsError: true}, nil
		}
		return &quire.ToolOutput{CallId: call.CallId, Text: text}, nil
	}
	execute := &quire.ExecuteToolRequest{Agent: capsule, Name: call.Name, ArgumentsJson: call.ArgumentsJson}
	done, err := a.Memory.ExecuteTool(ctx, execute)
	if reasonOf(err) == "INVALID_FIELD" {
		return &quire.ToolOutput{CallId: call.CallId, Text: "there is no tool " + call.Name, IsError: true}, nil
	}
	return &quire.ToolOutput{CallId: call.CallId, Text: done.GetContent(), IsError: done.GetIsError()}, err
}
