package kernel_test

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// asking returns a toolbox: "ask" parks for an answer, "pay" runs at most once, "look" may run again.
func asking() map[string]scene.Tool {
	return map[string]scene.Tool{
		"ask": {Run: func(context.Context, message.ToolCall) scene.Answer {
			return scene.Answer{Park: true, Selection: &message.Selection{
				Title: "Shall I?", Choices: []message.Choice{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}},
			}}
		}},
		"pay":  {Replay: object.ReplayNever},
		"look": {Replay: object.ReplaySafe},
	}
}
