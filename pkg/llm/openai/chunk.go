package openai

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// The members under which servers stream reasoning. The first is the older and commoner name.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
)

// A chunk is one frame of a stream. Texts stay raw because servers disagree on their types; see textOf.
type chunk struct {
	ID      jsontext.Value `json:"id"`
	Model   jsontext.Value `json:"model"`
	Choices []choice       `json:"choices"`
	Usage   *wireUsage     `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

type choice struct {
	Index        int            `json:"index"`
	Delta        delta          `json:"delta"`
	FinishReason jsontext.Value `json:"finish_reason"` //nolint:tagliatelle // the server's name
}

type delta struct {
	Content          jsontext.Value `json:"content"`
	Refusal          jsontext.Value `json:"refusal"`
	ReasoningContent jsontext.Value `json:"reasoning_content"` //nolint:tagliatelle // the server's name
	Reasoning        jsontext.Value `json:"reasoning"`
	ToolCalls        []callDelta    `json:"tool_calls"` //nolint:tagliatelle // the server's name
}

type callDelta struct {
	Index    *int           `json:"index"`
	ID       jsontext.Value `json:"id"`
	Function functionDelta  `json:"function"`
}

type functionDelta struct {
	Name      jsontext.Value `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// reasoning returns the reasoning of d and the member it came in. Some servers send it under both names.
func (d delta) reasoning() (string, string) {
	if s := textOf(d.ReasoningContent); s != "" {
		return s, fieldReasoningContent
	}
	return textOf(d.Reasoning), fieldReasoning
}

// argumentsText returns the fragment of arguments text. Some servers send the whole object instead of its text.
func (f functionDelta) argumentsText() string {
	if f.Arguments.Kind() == '{' {
		return string(f.Arguments)
	}
	return textOf(f.Arguments)
}

type wireUsage struct {
	PromptTokens     jsontext.Value `json:"prompt_tokens"`           //nolint:tagliatelle // the server's name
	CompletionTokens jsontext.Value `json:"completion_tokens"`       //nolint:tagliatelle // the server's name
	TotalTokens      jsontext.Value `json:"total_tokens"`            //nolint:tagliatelle // the server's name
	CacheHitTokens   jsontext.Value `json:"prompt_cache_hit_tokens"` //nolint:tagliatelle // the server's name
	PromptDetails    struct {
		CachedTokens jsontext.Value `json:"cached_tokens"` //nolint:tagliatelle // the server's name
	} `json:"prompt_tokens_details"` //nolint:tagliatelle // the server's name
	CompletionDetails struct {
		ReasoningTokens jsontext.Value `json:"reasoning_tokens"` //nolint:tagliatelle // the server's name
	} `json:"completion_tokens_details"` //nolint:tagliatelle // the server's name
}

// usage returns u in our terms, where tokens read from a cache are not counted as input a second time.
func (u wireUsage) usage() message.Usage {
	prompt, output := count(u.PromptTokens), count(u.CompletionTokens)
	cached := min(prompt, max(count(u.PromptDetails.CachedTokens), count(u.CacheHitTokens)))
	total := count(u.TotalTokens)
	if total == 0 {
		total = prompt + output
	}
	return message.Usage{
		Input:       prompt - cached,
		Output:      output,
		CacheRead:   cached,
		Reasoning:   min(output, count(u.CompletionDetails.ReasoningTokens)),
		TotalTokens: total,
	}
}

// count reads a number of tokens; what is no sensible number is none.
func count(v jsontext.Value) int {
	const most = 1 << 40
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || v.Kind() != '0' || n < 0 {
		return 0
	}
	return int(min(n, most))
}
