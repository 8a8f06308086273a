package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

const (
	head = "bench"
	lane = "inbox"
)

func landing() kernel.Landing {
	return kernel.Landing{Lanes: []kernel.LandingLane{{Lane: lane, Lands: kernel.AtBoundary}}, Drain: kernel.DrainOne}
}

// open opens a store and makes or opens its one session.
func open(ctx context.Context, path string) (*sqlitestore.Store, *kernel.Session, error) {
	st, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return nil, nil, err
	}
	outcome, err := st.CreateSession(ctx, store.CreateOptions{ID: "bench", Reason: "create"})
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	if created, ok := outcome.(store.SessionCreated); ok {
		return st, kernel.New(created.Session, nil), nil
	}
	session, err := st.OpenSession(ctx, "bench")
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return st, kernel.New(session, nil), nil
}

func submit(ctx context.Context, s *kernel.Session, text string) error {
	_, err := s.Submit(ctx, kernel.SubmitOptions{Head: head, Lane: lane, Body: object.MessageBody{Message: message.NewUser(text, s.Now())}})
	return err
}

// A loop is a turn that does nothing and never ends: a response with one call, its result, and so on. What remains is the durable step.
// It asks for a checkpoint when its context has grown to 64 commits.
type loop struct{}

func (loop) Respond(_ context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
	if len(in.Context.Commits) >= 64 {
		return kernel.WriteCheckpoint{Checkpoint: object.CheckpointBody{Summary: "so far", RetainedTail: []message.Message{message.NewUser("go on", in.Now)}}}, nil
	}
	return kernel.CallTools{Message: message.Assistant{
		Content: []message.Part{message.ToolCall{ID: "c", Name: "noop", Arguments: []byte(`{}`)}},
		API:     "none", Provider: "none", Model: "none", StopReason: message.StopToolUse, Timestamp: in.Now,
	}}, nil
}

func (loop) Tools(_ context.Context, in kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	return kernel.Settled{Results: []message.ToolResult{{
		ToolCallID: "c", ToolName: "noop", Content: []message.Content{message.Text{Text: "ok"}}, Timestamp: in.Now,
	}}}, nil
}

// An answer is a turn that answers every message with one word.
type answer struct{}

func (answer) Respond(_ context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
	return kernel.Complete{Message: message.Assistant{
		Content: []message.Part{message.Text{Text: "yes"}},
		API:     "none", Provider: "none", Model: "none", StopReason: message.StopEnd, Timestamp: in.Now,
	}}, nil
}

func (answer) Tools(context.Context, kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	return nil, errors.New("no tools")
}

// history puts a branch of n commits under the head, ended by a checkpoint when asked.
func history(ctx context.Context, s *kernel.Session, n int, checkpoint bool) error {
	oids, err := s.ReadRefs(ctx, ref.Head(head))
	if err != nil {
		return err
	}
	tip := oids[0]
	var objs []object.Encoded
	put := func(body object.Body, i int) error {
		enc, err := object.Encode(object.Commit{Parent: tip, Body: body, At: object.Millis(i)})
		if err != nil {
			return err
		}
		objs, tip = append(objs, enc), enc.OID
		if len(objs) < 500 {
			return nil
		}
		err = s.PutObjects(ctx, objs)
		objs = nil
		return err
	}
	for i := range n {
		var m message.Message = message.NewUser(fmt.Sprintf("message %d, with a sentence of ordinary length behind it", i), object.Millis(i))
		if i%2 == 1 {
			m = message.Assistant{
				Content: []message.Part{message.Text{Text: "an answer of about the same length as the message"}},
				API:     "none", Provider: "none", Model: "none", StopReason: message.StopEnd,
			}
		}
		if err := put(object.MessageBody{Message: m}, i); err != nil {
			return err
		}
	}
	if checkpoint {
		if err := put(object.CheckpointBody{Summary: "so far", Config: &object.Config{}}, n); err != nil {
			return err
		}
	}
	if err := s.PutObjects(ctx, objs); err != nil {
		return err
	}
	_, err = s.MoveHead(ctx, kernel.MoveHeadOptions{Head: head, To: tip})
	return err
}
