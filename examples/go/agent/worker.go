package main

import (
	"context"
	"encoding/json"

	quire "quire/examples/go/gen/quire/v1"
)

// A tool by which the model spawns a worker: a sub-agent with a session of its own, which does the task with these tools.
func (a *Agent) workerTool(tools ...Tool) Tool {
	run := func(ctx context.Context, arguments []byte) (string, error) {
		var given struct{ Task string }
		if err := json.Unmarshal(arguments, &given); err != nil {
			return "", err
		}
		link := &quire.SubAgentLink{ParentSessionId: a.Session, Task: given.Task, TaskStatus: quire.TaskStatus_TASK_STATUS_RUNNING}
		create := &quire.CreateSessionRequest{SubAgent: link, Defaults: &quire.SessionDefaults{Capsule: &a.Capsule}}
		created, err := a.Ledger.CreateSession(ctx, create)
		if err != nil {
			return "", err
		}
		worker := &Agent{Server: a.Server, Session: created.Session.Id, Model: a.Model, Tools: tools}
		turn, err := worker.Turn(ctx, given.Task)
		status := quire.TaskStatus_TASK_STATUS_COMPLETED
		if err != nil {
			status = quire.TaskStatus_TASK_STATUS_FAILED
		}
		update := &quire.UpdateSessionRequest{Session: created.Session.Id, TaskStatus: &status}
		if _, failed := a.Ledger.UpdateSession(ctx, update); failed != nil || err != nil {
			return "", firstOf(err, failed)
		}
		return a.lastWords(ctx, turn.Id)
	}
	return Tool{
		Name: "delegate", Description: "Gives a task to a worker, who carries it out alone and reports back.",
		Schema: `{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}`,
		Run:    run,
	}
}

func (a *Agent) lastWords(ctx context.Context, turnID string) (string, error) {
	found, err := a.Ledger.GetTurn(ctx, &quire.GetTurnRequest{TurnId: turnID})
	if err != nil {
		return "", err
	}
	messages := found.GetRecorded().GetResult().GetMessages()
	words := ""
	for _, part := range messages[len(messages)-1].Parts {
		words += part.GetText().GetText()
	}
	return words, nil
}

func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
