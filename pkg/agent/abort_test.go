package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// background takes one step in a goroutine and returns where its outcome comes.
func (w *world) background(ctx context.Context) <-chan kernel.StepOutcome {
	done := make(chan kernel.StepOutcome, 1)
	go func() {
		outcome, err := w.Step(ctx, w.step)
		if err != nil && ctx.Err() == nil {
			w.t.Errorf("step: %v", err)
		}
		done <- outcome
	}()
	return done
}

// blocks returns a tool function that tells when it has started and runs until its context ends.
func blocks() (started chan struct{}, f execute) {
	started = make(chan struct{})
	return started, func(ctx context.Context, _ tool.Call) (tool.Outcome, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func TestB01_AbortDuringToolCallsLeavesNoOrphan(t *testing.T) {
	var a, b probe
	aDone := make(chan struct{})
	started, block := blocks()
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "a", "{}"), scripted.Call("b", "b", "{}"), scripted.End(message.StopToolUse),
		scripted.Text("going on"),
	), a.tool("a", tool.ReplayNever, func(context.Context, tool.Call) (tool.Outcome, error) {
		close(aDone)
		return tool.Text("real"), nil
	}), b.tool("b", tool.ReplayNever, block))
	w.send("steer", "hi")
	w.until("tools")
	done := w.background(t.Context())
	<-aDone
	<-started
	w.abort()
	<-done
	w.send("steer", "go on")
	before := w.run().ID
	w.steps()
	run := w.wantPhase("done")
	w.ruleG()
	got := w.results()
	if textOf(got[0]) != "real" || got[0].IsError {
		t.Errorf("a has %+v, want its real result", got[0])
	}
	if !got[1].IsError || !strings.Contains(textOf(got[1]), "interrupted") {
		t.Errorf("b has %+v, want an error that says interrupted", got[1])
	}
	if run.ID != before || run.AbortRequested {
		t.Errorf("run %+v, want the same one without the flag", run)
	}
}

func TestB02_AbortWhileACallIsStreamed(t *testing.T) {
	var p probe
	streamed := make(chan struct{})
	w := newWorld(t, scripted.Play(
		scripted.Text("x"), scripted.RawCall("a", "t", `{"p":`), scripted.Do(func() { close(streamed) }), scripted.Stall(),
	), p.tool("t", tool.ReplayNever, says("never")))
	w.send("steer", "hi")
	w.until("respond")
	done := w.background(t.Context())
	<-streamed
	w.abort()
	<-done
	w.steps()
	w.wantPhase("aborted")
	w.ruleG()
	last := w.lastAnswer()
	if len(last.Calls()) != 0 || last.StopReason != message.StopAborted || last.Content[0] != (message.Text{Text: "x"}) || p.runs() != 0 {
		t.Errorf("answer %+v after %d runs, want the text alone", last, p.runs())
	}
}

func TestB04_RetriesLeaveNoOpenCall(t *testing.T) {
	var p probe
	cut := []scripted.Step{scripted.Call("a", "t", "{}"), scripted.Cut()}
	w := newWorld(t, scripted.Play(slices.Concat(cut, cut, cut, []scripted.Step{scripted.Text("fine")})...),
		p.tool("t", tool.ReplayNever, says("never")))
	w.send("steer", "hi")
	for range 4 {
		w.steps()
		w.clock.advance(time.Minute)
	}
	run := w.wantPhase("done")
	if run.Attempts != 4 || p.runs() != 0 {
		t.Errorf("%d attempts and %d runs, want 4 and 0", run.Attempts, p.runs())
	}
	w.ruleG()
	if n := len(w.player.Requests()[3].Messages); n != 1 {
		t.Errorf("the last request has %d messages, want only the question", n)
	}
}

func TestB08_AToolThatIgnoresTheAbortIsLeftBehind(t *testing.T) {
	var p probe
	started, release, returned := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse)),
		p.tool("t", tool.ReplayNever, func(_ context.Context, call tool.Call) (tool.Outcome, error) {
			call.Progress(tool.Progress{Text: "half way"})
			close(started)
			<-release
			call.Progress(tool.Progress{Text: "too late"})
			close(returned)
			return tool.Text("too late"), nil
		}))
	w.send("steer", "hi")
	w.until("tools")
	done := w.background(t.Context())
	<-started
	w.abort()
	<-done
	w.steps()
	w.wantPhase("aborted")
	last, err := w.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	<-returned
	if got, err := w.LastSeq(t.Context()); err != nil || got != last {
		t.Errorf("the tool's late end wrote events %d to %d (%v)", last, got, err)
	}
	if got := w.results(); len(got) != 1 || !strings.Contains(textOf(got[0]), "interrupted") || !strings.Contains(textOf(got[0]), "half way") {
		t.Errorf("results %+v, want one that says interrupted and what the tool said last", got)
	}
}

func TestB09_AbortBetweenResponseAndFirstIntent(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.Call("b", "t", "{}"), scripted.End(message.StopToolUse)),
		p.tool("t", tool.ReplaySafe, says("never")))
	w.send("steer", "hi")
	w.until("tools")
	w.abort()
	w.steps()
	w.wantPhase("aborted")
	w.ruleG()
	if got := w.results(); len(got) != 2 || !got[0].IsError || !got[1].IsError || p.runs() != 0 {
		t.Errorf("results %+v after %d runs, want two errors and no run", got, p.runs())
	}
	for _, e := range w.events() {
		if effectMoved(e) {
			t.Error("an effect ref was written")
		}
	}
}

func TestB12_AbortDuringBackoff(t *testing.T) {
	w := newWorld(t, scripted.Play(scripted.Cut(), scripted.Text("hello")))
	w.send("steer", "hi")
	w.steps()
	first := w.wantPhase("retry").ID
	w.abort()
	w.steps()
	w.wantPhase("aborted")
	messages := len(w.messages())
	w.send("steer", "again")
	w.steps()
	if run := w.wantPhase("done"); run.ID == first || run.AbortRequested {
		t.Errorf("run %+v, want a new one without the flag", run)
	}
	if got := len(w.messages()); got != messages+2 {
		t.Errorf("%d messages were added, want the question and its answer", got-messages)
	}
}

func TestB44_AbortWhileParked(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "ask", "{}"), scripted.Call("b", "mute", "{}"), scripted.End(message.StopToolUse), scripted.Text("yes?"),
	), p.waking(p.tool("ask", tool.ReplayNever, waits(tool.Wait{})), func(ctx context.Context, w tool.Wake) (tool.Outcome, error) {
		if !w.Aborted || w.Expired || w.Reply != nil || ctx.Err() == nil {
			return nil, errors.New("want an aborted wake with an ended context")
		}
		return tool.Errorf("withdrawn"), nil
	}), p.tool("mute", tool.ReplayNever, waits(tool.Wait{})))
	w.send("steer", "hi")
	w.steps()
	run := w.wantPhase("waiting")
	w.abort()
	w.send("steer", "still there?")
	w.steps()
	if now := w.wantPhase("done"); now.ID != run.ID {
		t.Errorf("the message was answered in run %q, want %q", now.ID, run.ID)
	}
	w.ruleG()
	got := w.results()
	if textOf(got[0]) != "withdrawn" || textOf(got[1]) != "The call was aborted while waiting." || !got[1].IsError {
		t.Errorf("results %+v", got)
	}
}

func TestAnAbortedWakeCannotParkAgain(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse)),
		p.waking(p.tool("ask", tool.ReplayNever, waits(tool.Wait{})), func(context.Context, tool.Wake) (tool.Outcome, error) {
			return tool.Wait{}, nil
		}))
	w.send("steer", "hi")
	w.steps()
	w.abort()
	w.steps()
	w.wantPhase("aborted")
	if got := textOf(w.results()[0]); got != "The call was aborted while waiting." {
		t.Errorf("result %q", got)
	}
}

func TestAnAcceptedReplyIsNotLostToAnAbort(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse)),
		p.waking(p.tool("ask", tool.ReplayNever, waits(tool.Wait{})), func(_ context.Context, w tool.Wake) (tool.Outcome, error) {
			return tool.Text("got " + string(w.Reply)), nil
		}))
	w.send("steer", "hi")
	w.steps()
	w.reply("a", `"yes"`)
	w.abort()
	w.steps()
	w.wantPhase("aborted")
	if got := textOf(w.results()[0]); got != `got "yes"` {
		t.Errorf("result %q", got)
	}
}

func TestB76_AbortDuringAStall(t *testing.T) {
	streamed := make(chan struct{})
	w := newWorld(t, scripted.Play(scripted.Text("x"), scripted.Do(func() { close(streamed) }), scripted.Stall()))
	w.send("steer", "hi")
	w.until("respond")
	done := w.background(t.Context())
	<-streamed
	w.abort()
	<-done
	w.steps()
	w.wantPhase("aborted")
}

// A deafProvider streams and then neither returns nor looks at its context.
type deafProvider struct{ streamed, release chan struct{} }

func (deafProvider) Name() string { return "deaf" }

func (deafProvider) Models() []llm.ModelInfo {
	return []llm.ModelInfo{{Model: llm.Model{Provider: "deaf", ID: "m"}, API: "x"}}
}

func (p deafProvider) Stream(_ context.Context, _ llm.Request, emit func(llm.Delta) error) message.Assistant {
	_ = emit(llm.ThinkingDelta{Index: 0, Text: "hm"})
	_ = emit(llm.TextDelta{Index: 1, Text: "so f"})
	_ = emit(llm.TextDelta{Index: 1, Text: "ar"})
	close(p.streamed)
	<-p.release
	_ = emit(llm.TextDelta{Index: 1, Text: " and on"})
	return message.Assistant{StopReason: message.StopEnd}
}

func TestAProviderThatIgnoresTheAbortIsLeftBehind(t *testing.T) {
	p := deafProvider{make(chan struct{}), make(chan struct{})}
	defer close(p.release)
	w := newWorld(t, scripted.Play())
	opts := w.opts
	opts.Models = llm.NewCatalog(p)
	w.use(opts)
	w.send("steer", "hi")
	w.until("respond")
	done := w.background(t.Context())
	<-p.streamed
	w.abort()
	<-done
	w.steps()
	w.wantPhase("aborted")
	a := w.lastAnswer()
	if len(a.Content) != 2 || a.Content[0] != (message.Thinking{Thinking: "hm"}) || a.Content[1] != (message.Text{Text: "so far"}) {
		t.Errorf("answer %+v, want what was streamed", a)
	}
	if a.Provider != "deaf" || a.Model != "m" || a.API != "x" || a.StopReason != message.StopAborted {
		t.Errorf("answer %+v", a)
	}
}

// A host that stops leaves open what another host can go on with.
func TestAReleasedBatchIsGoneOnWith(t *testing.T) {
	var safe, never, parked probe
	started, block := blocks()
	started2, block2 := blocks()
	w := newWorld(t, scripted.Play(
		scripted.Call("p", "parked", "{}"), scripted.Call("s", "safe", "{}"), scripted.Call("n", "never", "{}"),
		scripted.End(message.StopToolUse), scripted.Text("done"),
	), parked.waking(parked.tool("parked", tool.ReplayNever, waits(tool.Wait{})), func(context.Context, tool.Wake) (tool.Outcome, error) {
		return tool.Text("woken"), nil
	}), safe.tool("safe", tool.ReplaySafe, func(ctx context.Context, c tool.Call) (tool.Outcome, error) {
		if safe.runs() > 1 {
			return tool.Text("second time"), nil
		}
		return block(ctx, c)
	}), never.tool("never", tool.ReplayNever, block2))
	w.send("steer", "hi")
	w.until("tools")
	ctx, stop := context.WithCancelCause(t.Context())
	done := w.background(ctx)
	<-started
	<-started2
	w.event("wait") // the third call is parked
	stop(kernel.ErrReleased)
	<-done
	w.wantPhase("tools")
	if _, open := w.effect("s").Effect.(object.Intent); !open {
		t.Error("the safe call is not left open")
	}
	w.steps()
	w.wantPhase("waiting")
	w.reply("p", `1`)
	w.steps()
	w.wantPhase("done")
	got := w.results()
	if textOf(got[0]) != "woken" || textOf(got[1]) != "second time" || !strings.Contains(textOf(got[2]), "interrupted") {
		t.Errorf("results %+v", got)
	}
	if safe.runs() != 2 || never.runs() != 1 {
		t.Errorf("safe ran %d times and never %d times, want 2 and 1", safe.runs(), never.runs())
	}
}

func TestB84_AMovedHeadEndsTheBatch(t *testing.T) {
	var p, later probe
	started, block := blocks()
	w := newWorld(t, scripted.Play(
		scripted.Text("first"), scripted.End(message.StopEnd),
		scripted.Call("a", "t", "{}"), scripted.Call("b", "ask", "{}"), scripted.End(message.StopToolUse),
	), p.tool("t", tool.ReplayNever, block), later.tool("ask", tool.ReplayNever, waits(tool.Wait{})))
	w.send("steer", "hi")
	w.steps()
	back := w.tip()
	w.send("steer", "more")
	w.until("tools")
	done := w.background(t.Context())
	<-started
	w.move(back)
	<-done
	w.steps()
	w.wantPhase("aborted")
	if got := w.tip(); got != back {
		t.Errorf("the head is at %s, want where it was put", got)
	}
}
