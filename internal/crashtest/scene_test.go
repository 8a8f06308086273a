package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

const session = api.SessionID("ses_crash")

// A part is what one process does. Once it runs a head, it runs it until it ends.
type part func(context.Context, *process) error

// A scene is played up to its end by processes of which one is killed. Whoever comes after a killed process does all that it was there for
// again: every act can be repeated.
type scene struct {
	name   string
	before []part   // what happened earlier, each in a process that ended well
	act    part     // by the process that is killed
	after  part     // by yet another process, up to the end; nil: nothing is left to do
	text   string   // what the user says
	floor  int      // at least so many kills
	writes []string // each was the last call of some killed process, at both moments
	// interrupts: a process was killed while the tool that must not run twice ran, or before anybody knows that it did.
	interrupts bool
}

// scenes are found by name in the child.
func scenes() []scene {
	both := []string{
		"UpdateRefs land#1", "UpdateRefs respond#1", "UpdateRefs effect#1", "UpdateRefs tools#1", "UpdateRefs respond#2", "AppendEvents#1", "AppendEvents#2", "AppendEvents#3",
		"AcquireLease#1", "UpdateRefs submit#1", "CreateSession fact#1",
	}
	return []scene{
		{
			// Scene 2: the runner dies anywhere, also between a tool's intent and its result.
			name: "runs", text: "use look pay", act: serially(create, say("use look pay"), attach), writes: both, floor: 100, interrupts: true,
		},
		{
			name: "steps", text: "use look pay", act: serially(create, say("use look pay"), step), writes: both, floor: 100, interrupts: true,
		},
		{
			// Scene 3, the asking host: it dies anywhere up to its exit.
			name: "parks", text: "use pay ask", act: serially(create, say("use pay ask"), park), after: serially(read, reply, attach), floor: 90, interrupts: true,
			writes: []string{
				"CreateSession fact#1", "UpdateRefs submit#1", "AcquireLease#1", "AppendEvents#1", "UpdateRefs land#1", "UpdateRefs respond#1", "UpdateRefs effect#1", "UpdateRefs effect#2",
				"UpdateRefs wait#1", "UpdateRefs wait#2",
			},
		},
		{
			// Scene 3, the phone: it dies while it answers and tries again.
			name: "replies", text: "use pay ask", before: []part{serially(create, say("use pay ask"), park, read)}, act: reply, after: attach, floor: 8,
			writes: []string{"UpdateRefs signal#1"},
		},
		{
			// Scene 3, whoever acquires the head next.
			name: "resumes", text: "use pay ask", before: []part{serially(create, say("use pay ask"), park, read), reply}, act: attach, floor: 70,
			writes: []string{"AcquireLease#1", "UpdateRefs effect#1", "UpdateRefs tools#1", "UpdateRefs respond#1", "AppendEvents#1"},
		},
		{
			// A participant dies while it submits, and submits again with the same key.
			name: "submits", text: "use look pay", before: []part{create}, act: say("use look pay"), after: attach, floor: 6,
			writes: []string{"UpdateRefs submit#1"},
		},
	}
}

// dots are the text in front of calls, one for each pair.
const dots = "................................."

// lines are what the branch of a scene says at its end, when the tool pay came to paid.
func (s scene) lines(paid string) []string {
	if s.text == "use look pay" {
		return []string{
			"user: use look pay", "assistant: " + dots + " calls look pay", "look: looked", "pay: " + paid, "assistant: done: looked; " + paid,
		}
	}
	return []string{
		"user: use pay ask", "assistant: " + dots + " calls pay ask", "pay: " + paid, "ask: Picked: Yes (yes)",
		"assistant: done: " + paid + "; Picked: Yes (yes)",
	}
}

func serially(acts ...part) part {
	return func(ctx context.Context, p *process) error {
		for _, act := range acts {
			if err := act(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}

func create(ctx context.Context, p *process) error {
	_, err := p.CreateSession(ctx, api.CreateSessionOptions{SessionID: session})
	return err
}

func say(text string) part {
	return func(ctx context.Context, p *process) error {
		_, err := p.Send(ctx, api.SendOptions{SessionID: session, Content: api.Text(text), Key: "the only"})
		return err
	}
}

// attach runs the head as a server does until there is nothing left to do.
func attach(ctx context.Context, p *process) error {
	outcome, err := run(ctx, p)
	if _, idle := outcome.(api.Idle); err == nil && !idle {
		err = fmt.Errorf("the head came to rest as %#v, want it idle", outcome)
	}
	return err
}

// park runs the head until the run waits for an answer.
func park(ctx context.Context, p *process) error {
	outcome, err := run(ctx, p)
	if _, waits := outcome.(api.Waiting); err == nil && !waits {
		err = fmt.Errorf("the head came to rest as %#v, want the run waiting", outcome)
	}
	return err
}

// run looks on through a handle of its own, so that the calls of p are those of the runner alone.
func run(ctx context.Context, p *process) (api.WaitOutcome, error) {
	onlooker, err := openProcess(ctx, p.dir, p.full)
	if err != nil {
		return nil, err
	}
	defer func() { _ = onlooker.Close() }()
	if err := p.Attach(ctx, sdk.AttachOptions{}); err != nil {
		return nil, err
	}
	return onlooker.WaitRun(ctx, api.HeadOptions{SessionID: session})
}

// step advances the head one durable step at a time, as a handler of requests does.
func step(ctx context.Context, p *process) error {
	for range 100 {
		outcome, err := p.Step(ctx, api.HeadOptions{SessionID: session})
		if err != nil {
			return err
		}
		switch outcome.(type) {
		case api.Continue, api.Finished:
		case api.Idle:
			return nil
		case api.StepBusy, api.StepWaiting, api.Retry, api.Fenced:
			return fmt.Errorf("a step came to %#v", outcome)
		}
	}
	return fmt.Errorf("a hundred steps did not settle the head")
}

// A question is what a phone keeps of a parked call, to answer it and to try that again.
type question struct {
	RunID  string     `json:"runId"`
	CallID string     `json:"callId"`
	WaitID object.OID `json:"waitId"`
}

const questionName = "question.json"

// read keeps the one question.
func read(ctx context.Context, p *process) error {
	snap, err := p.Snapshot(ctx, api.HeadOptions{SessionID: session})
	if err != nil {
		return err
	}
	if len(snap.Parked) != 1 || snap.Parked[0].Selection == nil {
		return fmt.Errorf("%#v is parked, want the question", snap.Parked)
	}
	q := snap.Parked[0]
	data, err := json.Marshal(question{q.RunID, q.CallID, q.WaitID})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, questionName), data, 0o600)
}

// reply answers the question that was read. That it is answered already is what somebody learns who tries again; it is true only when the
// run goes on, which the scene's end shows.
func reply(ctx context.Context, p *process) error {
	data, err := os.ReadFile(filepath.Join(p.dir, questionName))
	if err != nil {
		return err
	}
	var q question
	if err := json.Unmarshal(data, &q); err != nil {
		return err
	}
	outcome, err := p.Reply(ctx, api.ReplyOptions{
		SessionID: session, RunID: q.RunID, CallID: q.CallID, WaitID: q.WaitID, Reply: jsontext.Value(`{"picked":["yes"]}`),
	})
	if err != nil {
		return err
	}
	switch outcome.(type) {
	case api.Signalled, api.NotWaiting:
		return nil
	case api.NotFound:
	}
	return fmt.Errorf("the answer came to %#v", outcome)
}
