package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// pictures says what a request carries of each result: how many bytes of image, or -1 for a placeholder.
func pictures(t *testing.T, req llm.Request) (sizes []int, total int) {
	t.Helper()
	for _, m := range req.Messages {
		r, ok := m.(message.ToolResult)
		if !ok {
			continue
		}
		for _, c := range r.Content {
			switch c := c.(type) {
			case message.Image:
				sizes = append(sizes, len(c.Data))
				total += len(c.Data)
			case message.Text:
				if !strings.Contains(c.Text, "image (image/png) was left out") {
					t.Errorf("a result says %.60q", c.Text)
				}
				sizes = append(sizes, -1)
			}
		}
	}
	return sizes, total
}

// Field report B68: pictures that no provider takes together do not brick the session. Each request keeps its budget of bytes, the newest
// pictures go first, the others become placeholders, and the branch keeps them all.
func TestB68_ManyPicturesAndABigOneKeepTheSessionUsable(t *testing.T) {
	const many, small, big = 60, 1_600_000, 6_000_000
	data := strings.Repeat("QUJD", big/4)
	var p probe
	shoots := p.tool("shoot", tool.ReplayNever, func(_ context.Context, c tool.Call) (tool.Outcome, error) {
		size := small
		if c.ID == "big" {
			size = big
		}
		return tool.Done{Content: []message.Content{message.Image{Data: data[:size], MIMEType: "image/png"}}}, nil
	})
	var steps []scripted.Step
	for i := range many {
		steps = append(steps, scripted.Call(fmt.Sprint("c", i), "shoot", "{}"))
	}
	w := newWorld(t, scripted.Play(append(steps, scripted.End(message.StopToolUse), scripted.Text("many"), scripted.End(message.StopEnd),
		scripted.Call("big", "shoot", "{}"), scripted.End(message.StopToolUse), scripted.Text("big"), scripted.End(message.StopEnd),
		scripted.Text("on"), scripted.End(message.StopEnd), scripted.Text("less"), scripted.End(message.StopEnd))...), shoots)
	last := func() llm.Request {
		t.Helper()
		requests := w.player.Requests()
		return requests[len(requests)-1]
	}
	// check fails unless the last request left out so many pictures and then carries the sizes.
	check := func(what string, limit, left int, kept ...int) {
		t.Helper()
		got, total := pictures(t, last())
		want := make([]int, 0, left+len(kept))
		for range left {
			want = append(want, -1)
		}
		if diff := cmp.Diff(append(want, kept...), got); diff != "" || total > limit {
			t.Errorf("%s: %d bytes: %s", what, total, diff)
		}
	}
	times := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = small
		}
		return out
	}
	say := func(text string) {
		t.Helper()
		w.send("queue", text)
		w.steps()
		w.wantPhase("done")
		w.ruleG()
	}
	say("take many")
	fit := agent.DefaultMaxImageBytes / small
	check("many", agent.DefaultMaxImageBytes, many-fit, times(fit)...)
	say("take a big one")
	fit = (agent.DefaultMaxImageBytes - big) / small
	check("a big one", agent.DefaultMaxImageBytes, many-fit, append(times(fit), big)...)
	say("go on")
	check("later", agent.DefaultMaxImageBytes, many-fit, append(times(fit), big)...)

	// A provider that takes less than the newest picture alone gets none, and answers.
	opts := w.opts
	opts.MaxImageBytes = big - 1
	w.use(opts)
	say("with less")
	check("less than one", 0, many+1)
	if got := w.lastAnswer().Content; len(got) != 1 || got[0].(message.Text).Text != "less" {
		t.Errorf("the session answers %v", got)
	}
	stored := 0
	for _, r := range w.results() {
		stored += len(r.Content[0].(message.Image).Data)
	}
	if stored != many*small+big {
		t.Errorf("the branch has %d bytes of pictures", stored)
	}
}
