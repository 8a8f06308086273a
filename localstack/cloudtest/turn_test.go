package cloudtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// prose returns text of n words, which compresses about as much as what people and models write.
func prose(n int, seed uint32) string {
	words := strings.Fields("the session moved before its answer came so nobody waited and every second word was kept for a reader " +
		"who looked twice at what had been written while another quiet process took over without asking how it ended last time")
	var b strings.Builder
	for range n {
		seed = seed*1664525 + 1013904223
		b.WriteString(words[int(seed>>16)%len(words)])
		b.WriteByte(" ,.;-"[int(seed>>24)%5])
	}
	return b.String()
}

// reading is a tool that answers with about 2 KB and may run again.
func reading(t *testing.T) tool.Tool {
	t.Helper()
	type input struct {
		Path string `json:"path"`
	}
	read := func(_ context.Context, call tool.Call, _ input) (tool.Outcome, error) {
		return tool.Text(prose(330, uint32(call.ID[len(call.ID)-1]))), nil
	}
	return kerneltest.Must(tool.Typed("read", "Reads a file.", tool.ReplaySafe, read))(t)
}

// tokens are how many tokens a reference turn streams, in three responses.
const tokens = 600

// script is the model's side of a reference turn: a response with two calls, another one with two, and an answer; each streams its share
// of the tokens in so many flushes.
func (r *rig) script(flushes int) {
	say := func(n int) []scripted.Step {
		var steps []scripted.Step
		for i := range flushes / 3 {
			steps = append(steps, scripted.Text(prose(tokens/flushes, uint32(n*1000+i))), scripted.Gate(r.flushed))
		}
		return steps
	}
	for n := range 3 {
		r.player.Then(say(n)...)
		if n < 2 {
			for i := range 2 {
				r.player.Then(scripted.Call(fmt.Sprintf("toolu_01A09q90qw90lq917835lq%d%d", n, i), "read", fmt.Sprintf(`{"path":"pkg/file%d%d.go"}`, n, i)))
			}
			r.player.Then(scripted.End(message.StopToolUse))
		} else {
			r.player.Then(scripted.End(message.StopEnd))
		}
	}
}

// A reference turn is a keyed message of 1 KB, three responses of which two call two tools each, and 600 tokens streamed. What streams costs by
// the number of its flushes: at 80 tokens a second, 15 are what a host on this store makes (the first words of each response, then one every
// 600 ms), 30 are four a second, and 300 are every 25 ms, as embedded.
func TestReferenceTurn(t *testing.T) {
	for _, tc := range []struct {
		flushes           int
		serverless, drive float64 // write units at most
	}{{3, 106, 97}, {12, 115, 107}, {15, 120, 112}, {30, 137, 131}, {300, 470, 470}} {
		t.Run(fmt.Sprintf("%d flushes", tc.flushes), func(t *testing.T) {
			turns := 2 // in a young session, and in one with a history
			if tc.flushes > 30 {
				if testing.Short() {
					t.Skip("it streams for a minute")
				}
				turns = 1
			}
			r := newRig(t, reading(t))
			for n := range turns {
				r.script(tc.flushes)
				p := r.process()
				total := p.measure(func() { p.send(fmt.Sprint("serverless", n)) })
				for more := true; more; {
					p := r.process()
					total = total.plus(p.measure(func() { more = p.takes() }))
				}
				r.turn("each step in a new process", tc.serverless, total)
			}
			p := r.process()
			s := p.open()
			for n := range turns {
				r.script(tc.flushes)
				total := p.measure(func() { p.send(fmt.Sprint("drive", n)) })
				total = total.plus(p.measure(func() {
					out := kerneltest.Must(s.Drive(t.Context(), p.options()))(t)
					if _, ok := out.(kernel.StepFinished); !ok {
						t.Errorf("the drive ends %#v", out)
					}
				}))
				r.turn("in the hot loop", tc.drive, total)
			}
		})
	}
}

// aim is what a reference turn should cost, in write units.
const aim = 120

func (r *rig) turn(where string, most float64, got cost) {
	r.Helper()
	r.Logf("a reference turn %s: %v; %+g of the %d write units that it should take", where, got, got.Writes-aim, aim)
	if got.Writes > most {
		r.Errorf("a reference turn %s takes %g write units, want at most %g", where, got.Writes, most)
	}
}

// takes makes one step through the SDK, and reports whether there is more to do.
func (p *process) takes() bool {
	p.Helper()
	p.clock.Advance(time.Second)
	out := kerneltest.Must(p.host.Step(p.Context(), api.HeadOptions{SessionID: api.SessionID(kerneltest.Session)}))(p.T)
	_, more := out.(api.Continue)
	return more
}
