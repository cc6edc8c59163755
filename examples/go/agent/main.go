// A whole agent: two tools, streaming, memory, a worker, contexts that never overflow. Each line of its input is a turn.
//
//	go run ./agent [session]
//
// It talks to the provider whose key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY), else to the stand-in (npm run provider).
// There is no client package for Go: engine.go is what it would hold.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	quire "quire/examples/go/gen/quire/v1"
)

const prompt = "You are a clerk, who keeps the files of a small company. Write down in your notes what you will need later."

var folder, _ = filepath.Abs(setting("AGENT_FOLDER", "agent-files"))

var readFile = Tool{
	Name: "read_file", Description: "Reads a text file.",
	Schema: `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`,
	Run: func(_ context.Context, arguments []byte) (string, error) {
		file, _, err := inside(arguments)
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(file)
		return string(text), err
	},
}

var writeFile = Tool{
	Name: "write_file", Description: "Writes a text file, in place of what it held.",
	Schema: `{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]}`,
	Run: func(_ context.Context, arguments []byte) (string, error) {
		file, text, err := inside(arguments)
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		return fmt.Sprintf("wrote %d bytes", len(text)), os.WriteFile(file, []byte(text), 0o644)
	},
}

// The path of a call, inside the agent's folder, and its text.
func inside(arguments []byte) (file, text string, err error) {
	var given struct{ Path, Text string }
	if err := json.Unmarshal(arguments, &given); err != nil {
		return "", "", err
	}
	file = filepath.Join(folder, given.Path)
	if file != folder && !strings.HasPrefix(file, folder+string(filepath.Separator)) {
		return "", "", fmt.Errorf("%s is outside of the folder", given.Path)
	}
	return file, given.Text, nil
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	ctx := context.Background()
	server, err := connect(setting("QUIRE_ADDRESS", "127.0.0.1:50051"))
	check(err)
	memory := &quire.MemorySettings{Tools: true}
	body := &quire.CapsuleBody{Persona: &quire.Persona{CorePrompt: prompt, Memory: memory}}
	// Later calls wait a minute for a server that is away; the first one says sooner that there is none.
	soon, cancel := context.WithTimeout(ctx, 10*time.Second)
	_, err = server.Capsules.PutCapsule(soon, &quire.PutCapsuleRequest{Name: "clerk", Body: body})
	cancel()
	check(err)
	notes := &quire.BlockName{Owner: &quire.BlockOwner{Name: "clerk"}, Label: "notes"}
	_, err = server.Memory.CreateBlock(ctx, &quire.CreateBlockRequest{Block: notes, Type: quire.BlockType_BLOCK_TYPE_CORE})
	if reasonOf(err) != "BLOCK_EXISTS" {
		check(err)
	}
	session := "office"
	if len(os.Args) > 1 {
		session = os.Args[1]
	}
	agent := &Agent{Server: server, Session: session, Capsule: "clerk", Model: chosenModel(), Tools: []Tool{readFile, writeFile}}
	agent.Tools = append(agent.Tools, agent.workerTool(readFile))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		turn, err := agent.Turn(ctx, lines.Text())
		check(err)
		fmt.Printf("\n[turn %d]\n", turn.Depth)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
