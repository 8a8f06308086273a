package scene

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Count is the number of scenes.
const Count = 4

// Titles are the scenes in one line each, by number from 1.
func Titles() [Count + 1]string {
	return [Count + 1]string{
		1: "three phones submit at the same moment",
		2: "a runner dies between a tool's intent and its result",
		3: "a tool parks, the host exits, a phone answers an hour later",
		4: "a handler submits, takes one step, and exits",
	}
}

// A Clock is time that a scene can move: an hour passes without anybody waiting. The store must go by the same clock.
type Clock interface {
	Now() time.Time
	Advance(d time.Duration)
}

// Run plays scene n, from 1 to [Count], in a new session of st, and tells every step to say. It checks the session at the end. An error is
// a promise that was not kept, or a failure of the store.
func Run(ctx context.Context, n int, st store.Store, clock Clock, say func(format string, args ...any)) error {
	scenes := [Count + 1]func(context.Context, *stage) error{1: threePhones, 2: killedRunner, 3: answerLater, 4: stepPerRequest}
	if n < 1 || n > Count {
		return fmt.Errorf("%w: scene %d is not between 1 and %d", kernel.ErrInvalid, n, Count)
	}
	s := &stage{store: st, clock: clock, say: say}
	say("Scene %d: %s.", n, Titles()[n])
	if err := s.open(ctx, n); err != nil {
		return fmt.Errorf("scene %d: %w", n, err)
	}
	if err := scenes[n](ctx, s); err != nil {
		return fmt.Errorf("scene %d: %w", n, err)
	}
	problems, err := kernel.Check(ctx, s.session)
	if err != nil {
		return fmt.Errorf("scene %d: %w", n, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("scene %d: the session is broken: %v", n, problems)
	}
	say("Every invariant holds.")
	return nil
}

const (
	head = "stage"
	lane = "said"
	ttl  = kernel.DefaultTTL
)

// A stage is where a scene plays.
type stage struct {
	store   store.Store
	clock   Clock
	say     func(format string, args ...any)
	session *kernel.Session // of an onlooker and participant
	id      store.SessionID
}

func (s *stage) open(ctx context.Context, n int) error {
	for i := range 1000 {
		s.id = store.SessionID(fmt.Sprintf("scene%d_%d", n, i+1))
		made, err := s.store.CreateSession(ctx, store.CreateOptions{ID: s.id})
		if err != nil {
			return fmt.Errorf("create session: %w", err)
		}
		if c, ok := made.(store.SessionCreated); ok {
			s.session = s.kernel(c.Session)
			return nil
		}
	}
	return errors.New("a thousand sessions of this scene exist; delete some")
}

func (s *stage) kernel(session store.Session) *kernel.Session {
	return kernel.New(session, &kernel.Options{Now: s.clock.Now})
}

// process opens the session as a new process does, with a way to kill it.
func (s *stage) process(ctx context.Context) (*kernel.Session, *mortal, error) {
	session, err := s.store.OpenSession(ctx, s.id)
	if err != nil {
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	m := &mortal{Session: session}
	return s.kernel(m), m, nil
}

func options(turn kernel.Turn) kernel.StepOptions {
	return kernel.StepOptions{
		Head: head, Turn: turn, TTL: ttl,
		Landing: kernel.Landing{Lanes: []kernel.LandingLane{{Lane: lane, Lands: kernel.AtBoundary}}, Drain: kernel.DrainOne},
	}
}

// submit says text into the lane.
func (s *stage) submit(ctx context.Context, by *kernel.Session, text, key string) error {
	outcome, err := by.Submit(ctx, kernel.SubmitOptions{
		Head: head, Lane: lane, Key: key, Body: object.MessageBody{Message: message.NewUser(text, by.Now())},
	})
	if err != nil {
		return err
	}
	if _, ok := outcome.(kernel.Queued); !ok {
		return fmt.Errorf("submit %q: got %#v, want it queued", text, outcome)
	}
	return nil
}

// drive advances the head as a hot process does, until the outcome is not "finished" any more.
func (s *stage) drive(ctx context.Context, by *kernel.Session, turn kernel.Turn) (kernel.StepOutcome, error) {
	for {
		outcome, err := by.Drive(ctx, options(turn))
		if err != nil {
			return nil, err
		}
		if _, finished := outcome.(kernel.StepFinished); !finished {
			return outcome, nil
		}
	}
}

// texts returns the branch as one line per message.
func (s *stage) texts(ctx context.Context) ([]string, error) {
	oids, err := s.session.ReadRefs(ctx, ref.Head(head))
	if err != nil {
		return nil, err
	}
	commits, err := view.Branch(ctx, s.session, oids[0], 0)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, m := range view.Messages(commits) {
		switch m := m.(type) {
		case message.User:
			texts = append(texts, "user: "+message.PlainText(m.Content))
		case message.ToolResult:
			texts = append(texts, "tool "+m.ToolCallID+": "+message.PlainText(m.Content))
		case message.Assistant:
			for _, p := range m.Content {
				switch p := p.(type) {
				case message.Text:
					texts = append(texts, "assistant: "+p.Text)
				case message.ToolCall:
					texts = append(texts, "assistant calls "+p.Name)
				case message.Thinking:
				}
			}
		}
	}
	return texts, nil
}

// want compares the branch with what it should say.
func (s *stage) want(ctx context.Context, want ...string) error {
	got, err := s.texts(ctx)
	if err != nil {
		return err
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Errorf("the branch says %q, want %q", got, want)
		}
	}
	for _, line := range got {
		s.say("    %s", line)
	}
	return nil
}
