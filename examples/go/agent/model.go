package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	quire "quire/examples/go/gen/quire/v1"
)

// A model behind one of the four APIs.
type Model struct {
	Format         quire.BodyFormat
	Name, Path     string
	BaseURL, Key   string
	KeyHeader      string
	KeyPrefix      string
	AsksForAStream string
}

const overStream = `"stream":true,`

func chosenModel() Model {
	models := []Model{
		{Format: quire.BodyFormat_BODY_FORMAT_ANTHROPIC_MESSAGES, Name: "claude-sonnet-5-5", Path: "/v1/messages", BaseURL: "https://api.anthropic.com", Key: "ANTHROPIC_API_KEY", KeyHeader: "x-api-key", AsksForAStream: overStream},
		{Format: quire.BodyFormat_BODY_FORMAT_OPENAI_RESPONSES, Name: "gpt-6-sol", Path: "/v1/responses", BaseURL: "https://api.openai.com", Key: "OPENAI_API_KEY", KeyHeader: "authorization", KeyPrefix: "Bearer ", AsksForAStream: overStream},
		{Format: quire.BodyFormat_BODY_FORMAT_OPENAI_CHAT, Name: "gpt-6-sol", Path: "/v1/chat/completions", BaseURL: "https://api.openai.com", Key: "OPENAI_API_KEY", KeyHeader: "authorization", KeyPrefix: "Bearer ", AsksForAStream: overStream + `"stream_options":{"include_usage":true},`},
		{Format: quire.BodyFormat_BODY_FORMAT_GEMINI, Name: "gemini-4-argon", Path: "/v1beta/models/%s:streamGenerateContent?alt=sse", BaseURL: "https://generativelanguage.googleapis.com", Key: "GEMINI_API_KEY", KeyHeader: "x-goog-api-key"},
	}
	names := map[string]int{"anthropic": 0, "openai": 1, "openai-chat": 2, "gemini": 3}
	chosen := 0
	for at := len(models) - 1; at >= 0; at-- {
		if os.Getenv(models[at].Key) != "" {
			chosen = at
		}
	}
	if name := os.Getenv("AGENT_PROVIDER"); name != "" {
		at, ok := names[name]
		if !ok {
			log.Fatal("AGENT_PROVIDER is one of anthropic, openai, openai-chat, gemini")
		}
		chosen = at
	}
	model := models[chosen]
	if model.Key = os.Getenv(model.Key); model.Key == "" {
		model.BaseURL = "http://127.0.0.1:8080"
	}
	model.BaseURL = setting("AGENT_MODEL_URL", model.BaseURL)
	model.Name = setting("AGENT_MODEL", model.Name)
	if strings.Contains(model.Path, "%s") {
		model.Path = fmt.Sprintf(model.Path, model.Name)
	}
	return model
}

type ProviderError struct {
	Status int
	Body   string
}

func (e *ProviderError) Error() string {
	return fmt.Sprintf("the provider answered %d: %.500s", e.Status, e.Body)
}

var tooLong = regexp.MustCompile(`(?i)prompt is too long|context_length_exceeded|context limit|maximum context length|context window|(token count|tokens).{0,80}exceed|exceeds? the (maximum|available)`)

func (e *ProviderError) isOverflow() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != 429 && tooLong.MatchString(e.Body)
}

// Posts the body and shows the answer's text as it comes. What it gives is the stream as it came: the server reads it.
func (m Model) call(ctx context.Context, body []byte) ([]byte, error) {
	streamed := append([]byte("{"+m.AsksForAStream), body[1:]...)
	for failed := 0; ; failed++ {
		stream, err := m.post(ctx, streamed)
		refused, isRefused := err.(*ProviderError)
		mayPass := err != nil && (!isRefused || refused.Status == 429 || refused.Status >= 500)
		if !mayPass || failed == 4 || ctx.Err() != nil {
			return stream, err
		}
		time.Sleep(500 * time.Millisecond << failed)
	}
}

func (m Model) post(ctx context.Context, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.BaseURL+m.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("anthropic-version", "2023-06-01")
	request.Header.Set(m.KeyHeader, m.KeyPrefix+m.Key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(response.Body)
		return nil, &ProviderError{response.StatusCode, string(said)}
	}
	var stream bytes.Buffer
	isDone := false
	lines := bufio.NewReader(io.TeeReader(response.Body, &stream))
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			piece, ends := readEvent(data)
			fmt.Print(piece)
			isDone = isDone || ends
		}
		if err == io.EOF && isDone {
			return stream.Bytes(), nil
		} else if err == io.EOF {
			return nil, fmt.Errorf("the stream broke off")
		} else if err != nil {
			return nil, err
		}
	}
}

// The piece of text in an event of any of the four APIs, and whether it is the last one that matters.
func readEvent(data string) (piece string, isLast bool) {
	var event struct {
		Type    string
		Delta   json.RawMessage
		Choices []struct {
			Delta        struct{ Content string }
			FinishReason string `json:"finish_reason"`
		}
		Candidates []struct {
			Content      struct{ Parts []struct{ Text string } }
			FinishReason string
		}
	}
	if json.Unmarshal([]byte(data), &event) != nil {
		return "", false
	}
	isLast = event.Type == "message_stop" || event.Type == "response.completed" || event.Type == "response.incomplete"
	var delta struct{ Text string }
	if event.Type == "response.output_text.delta" {
		_ = json.Unmarshal(event.Delta, &piece)
	} else if json.Unmarshal(event.Delta, &delta) == nil {
		piece = delta.Text
	}
	for _, choice := range event.Choices {
		piece, isLast = choice.Delta.Content, choice.FinishReason != ""
	}
	for _, candidate := range event.Candidates {
		isLast = candidate.FinishReason != ""
		for _, part := range candidate.Content.Parts {
			piece += part.Text
		}
	}
	return piece, isLast
}
