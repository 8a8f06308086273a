package kerneltest

import (
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func (k *Kit) ceiling(object.Run) int { return k.Ceiling }

// User returns the body of a user message.
func (k *Kit) User(text string) object.Body {
	return object.MessageBody{Message: message.NewUser(text, k.Now())}
}

// Send submits a user message and returns its change.
func (k *Kit) Send(lane, text string) object.OID {
	k.Helper()
	return k.Submitted(kernel.SubmitOptions{Head: Head, Lane: lane, Body: k.User(text)})
}

// Submitted submits what must be queued and returns the change.
func (k *Kit) Submitted(opts kernel.SubmitOptions) object.OID {
	k.Helper()
	outcome := Must(k.Submit(k.Ctx, opts))(k)
	q, ok := outcome.(kernel.Queued)
	if !ok {
		k.Fatalf("submit: got %#v, want it queued", outcome)
	}
	return q.Change
}

// StepIs takes one step, whose outcome must have the name.
func (k *Kit) StepIs(want string) kernel.StepOutcome {
	k.Helper()
	return k.stepIs(k.Session, want)
}

func (k *Kit) stepIs(s *kernel.Session, want string) kernel.StepOutcome {
	k.Helper()
	got := Must(s.Step(k.Ctx, k.Options()))(k)
	if kernel.StepName(got) != want {
		k.Fatalf("step: got %s (%#v), want %s", kernel.StepName(got), got, want)
	}
	return got
}

// StepIs takes one step in the process, whose outcome must have the name.
func (p Process) StepIs(k *Kit, want string) kernel.StepOutcome {
	k.Helper()
	return k.stepIs(p.Session, want)
}

// Settle takes steps until nothing can be done: the head is idle, or waits without a deadline. Time passes as the outcomes ask for it: leases
// expire, retries and deadlines come due. It returns the last outcome.
func (k *Kit) Settle() kernel.StepOutcome {
	k.Helper()
	for range 1000 {
		var until object.Millis
		outcome := Must(k.Step(k.Ctx, k.Options()))(k)
		switch o := outcome.(type) {
		case kernel.StepContinue, kernel.StepFinished, kernel.StepFenced:
			continue
		case kernel.StepIdle:
			return outcome
		case kernel.StepBusy:
			until = o.Holder.ExpiresAt
		case kernel.StepRetry:
			until = o.At
		case kernel.StepWaiting:
			if until = o.Until; until == 0 {
				return outcome
			}
		}
		k.Clock.Advance(time.Duration(max(until-k.Now(), 1)) * time.Millisecond)
	}
	k.Fatal("a thousand steps did not settle the head")
	return nil
}

// Tip returns the tip of the kit's head.
func (k *Kit) Tip() object.OID {
	k.Helper()
	return k.Ref(ref.Head(Head))
}

// Ref reads one ref.
func (k *Kit) Ref(name ref.Name) object.OID {
	k.Helper()
	return Must(k.ReadRefs(k.Ctx, name))(k)[0]
}

// Run returns the current run of the kit's head.
func (k *Kit) Run() object.Run {
	k.Helper()
	run, ok, err := k.CurrentRun(k.Ctx, Head)
	if err != nil || !ok {
		k.Fatalf("reading the run: ok is %v, error %v", ok, err)
	}
	return run.Run
}

// Phase returns the word of the current run's phase.
func (k *Kit) Phase() string {
	k.Helper()
	return object.PhaseName(k.Run().Phase)
}

// Effects returns the open calls of the current run.
func (k *Kit) Effects() []kernel.EffectState {
	k.Helper()
	return Must(k.Session.Effects(k.Ctx, k.Run().ID))(k)
}

// Branch returns the commits of the kit's head, oldest first.
func (k *Kit) Branch() []view.Commit {
	k.Helper()
	return Must(view.Branch(k.Ctx, k.Session, k.Tip(), 0))(k)
}

// Texts returns what the branch of the kit's head gives a model, one line a message.
func (k *Kit) Texts() []string {
	k.Helper()
	return Texts(k.Branch())
}

// Texts returns what commits give a model: "u:" a user's text, "a:" an answer, "c:" a call, "r:" a result, "e:" an error result.
func Texts(commits []view.Commit) []string {
	texts := []string{}
	for _, m := range view.Messages(commits) {
		switch m := m.(type) {
		case message.User:
			texts = append(texts, "u:"+message.PlainText(m.Content))
		case message.ToolResult:
			kind := "r:"
			if m.IsError {
				kind = "e:"
			}
			texts = append(texts, kind+message.PlainText(m.Content))
		case message.Assistant:
			for _, p := range m.Content {
				switch p := p.(type) {
				case message.Text:
					texts = append(texts, "a:"+p.Text)
				case message.ToolCall:
					texts = append(texts, "c:"+p.ID)
				case message.Thinking:
				}
			}
		}
	}
	return texts
}

// PendingTexts returns the pending user messages of the kit's head, as every client sees them.
func (k *Kit) PendingTexts() []string {
	k.Helper()
	texts := []string{}
	for _, p := range Must(k.Pending(k.Ctx, Head))(k) {
		if body, ok := p.Change.Change.Body.(object.MessageBody); ok {
			if u, ok := body.Message.(message.User); ok {
				texts = append(texts, message.PlainText(u.Content))
			}
		}
	}
	return texts
}
