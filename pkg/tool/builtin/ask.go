package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

const askParameters = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["title", "choices"],
  "properties": {
    "title": {"type": "string", "minLength": 1, "description": "The question, in one sentence."},
    "choices": {
      "type": "array",
      "minItems": 1,
      "description": "What can be picked.",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "label"],
        "properties": {
          "id": {"type": "string", "minLength": 1, "description": "Unique among the choices."},
          "label": {"type": "string", "minLength": 1, "description": "What the participant reads."},
          "description": {"type": "string", "description": "A second line that explains the choice."}
        }
      }
    },
    "multiple": {"type": "boolean", "description": "Whether more than one choice may be picked."},
    "other": {"type": "string", "description": "Placeholder of a field for the participant's own words. Leave it out to accept only the choices."},
    "timeoutSeconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 34560000, "description": "Stop waiting after this long. Leave it out to wait for ever."}
  }
}`

type askInput struct {
	Title          string           `json:"title"`
	Choices        []message.Choice `json:"choices"`
	Multiple       bool             `json:"multiple,omitzero"`
	Other          string           `json:"other,omitzero"`
	TimeoutSeconds float64          `json:"timeoutSeconds,omitzero"`
}

// Ask returns the tool "ask", with which a model puts a question with choices to whoever takes part in the conversation.
// It parks with a [message.Selection] and expects a [message.SelectionReply] as JSON. Its replay policy is safe: a call that
// has parked is woken and not executed again, and one that has not was seen by nobody.
func Ask() tool.Tool {
	return tool.Tool{
		Name: "ask",
		Description: "Ask the participants a question with choices and wait for the answer. " +
			"Use it when you cannot go on without a decision that is theirs.",
		Parameters: jsontext.Value(askParameters),
		Replay:     tool.ReplaySafe,
		Execute:    askExecute,
		Wake:       askWake,
	}
}

func askExecute(_ context.Context, call tool.Call) (tool.Outcome, error) {
	in, err := tool.Decode[askInput](call.Arguments)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	wait := tool.Wait{Selection: &message.Selection{
		Title: in.Title, Choices: in.Choices, Multiple: in.Multiple, Other: in.Other,
	}}
	if in.TimeoutSeconds != 0 {
		after, err := millis(in.TimeoutSeconds)
		if err != nil {
			return tool.Errorf("arguments.timeoutSeconds: %v", err), nil
		}
		wait.Until = call.Now + max(after, 1) // a deadline of now would expire before anyone could see the question
	}
	if err := wait.Selection.Validate(); err != nil {
		return tool.Errorf("arguments: the question cannot be shown: %v", err), nil
	}
	return wait, nil
}

func askWake(_ context.Context, w tool.Wake) (tool.Outcome, error) {
	switch {
	case w.Aborted:
		return tool.Errorf("The question was withdrawn because the run was aborted. Nobody answered it."), nil
	case w.Expired:
		return titled(tool.Text("Nobody answered in time."), w.Selection), nil
	case w.Selection == nil:
		return tool.Errorf("The question is missing from the wait, so the answer cannot be read."), nil
	}
	reply, err := tool.Decode[message.SelectionReply](w.Reply)
	if err != nil {
		return tool.Errorf("The answer cannot be read: reply%s", strings.TrimPrefix(err.Error(), "arguments")), nil
	}
	if err := w.Selection.Check(reply); err != nil {
		return tool.Errorf("The answer cannot be read: %v", err), nil
	}
	done := titled(tool.Text(answer(*w.Selection, reply)), w.Selection)
	done.Details = w.Reply.Clone()
	return done, nil
}

// answer says what was picked by its labels, which the model knows the meaning of, and quotes own words apart from them.
func answer(s message.Selection, r message.SelectionReply) string {
	var lines []string
	if len(r.Picked) > 0 {
		var labels []string
		for _, c := range s.Choices { // in the order of the question
			for _, id := range r.Picked {
				if c.ID == id {
					labels = append(labels, fmt.Sprintf("%s (%s)", c.Label, c.ID))
				}
			}
		}
		lines = append(lines, "Picked: "+strings.Join(labels, ", "))
	}
	if strings.TrimSpace(r.Other) != "" {
		lines = append(lines, "In their own words: "+r.Other)
	}
	return strings.Join(lines, "\n")
}

func titled(d tool.Done, s *message.Selection) tool.Done {
	if s != nil {
		d.Title = s.Title
	}
	return d
}
