package sdk

import (
	"bytes"
	"context"
	"errors"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Send submits a user message.
func (s *Stepwell) Send(ctx context.Context, opts api.SendOptions) (api.SendReceipt, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Agent != "" {
		return nil, api.Invalid("/agent", "this host has no agent %q", opts.Agent)
	}
	session, lane, err := s.target(ctx, opts.SessionID, opts.Head, opts.Lane)
	if err != nil {
		return nil, err
	}
	content := opts.Content.Clean()
	outcome, err := session.Submit(ctx, kernel.SubmitOptions{
		Head: head(opts.Head), Lane: lane, Key: opts.Key, Author: s.actor(opts.Actor),
		Body: object.MessageBody{Message: message.User{Content: content, Timestamp: s.now()}},
	})
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.Queued:
		return api.Queued{Change: o.Change}, nil
	case kernel.Duplicate:
		same, err := used(ctx, session, o.Change, func(b object.Body) (bool, error) { return saysSame(b, content) })
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, api.ErrKeyReused
		}
		return api.Duplicate{Change: o.Change}, nil
	}
	panic("unreachable")
}

// Configure submits configuration. It lands like a message does, and starts no run of the model on its own.
func (s *Stepwell) Configure(ctx context.Context, opts api.ConfigureOptions) (api.ConfigureOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Agent != "" {
		return api.UnknownAgent{}, nil
	}
	if m := opts.Model; m != nil && s.opts.Models != nil {
		if _, _, ok := s.opts.Models.Lookup(llm.Model{Provider: m.Provider, ID: m.ID}); !ok {
			return api.UnknownModel{}, nil
		}
	}
	session, lane, err := s.target(ctx, opts.SessionID, opts.Head, opts.Lane)
	if err != nil {
		return nil, err
	}
	config := object.ConfigBody{Model: opts.Model, ThinkingLevel: opts.ThinkingLevel}
	outcome, err := session.Submit(ctx, kernel.SubmitOptions{
		Head: head(opts.Head), Lane: lane, Key: opts.Key, Author: s.actor(opts.Actor), Body: config,
	})
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.Queued:
		return api.Queued{Change: o.Change}, nil
	case kernel.Duplicate:
		same, err := used(ctx, session, o.Change, func(b object.Body) (bool, error) {
			first, ok := b.(object.ConfigBody)
			return ok && object.Config(first).Equal(object.Config(config)), nil
		})
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, api.ErrKeyReused
		}
		return api.Queued{Change: o.Change}, nil
	}
	panic("unreachable")
}

// target opens a session and checks that its head is listed and that the landing policy serves the lane, so that a mistyped name
// creates nothing and nothing is sent where no runner would land it.
func (s *Stepwell) target(ctx context.Context, id api.SessionID, headName, lane string) (*kernel.Session, string, error) {
	if lane == "" {
		lane = s.opts.Landing.Lanes[0].Lane
	}
	if !s.opts.Landing.Serves(lane) {
		return nil, "", api.Invalid("/lane", "the landing policy does not serve lane %q; it serves %s", lane, s.lanes())
	}
	session, err := s.open(ctx, id)
	if err != nil {
		return nil, "", err
	}
	listed, err := s.listed(ctx, session, head(headName))
	if err != nil {
		return nil, "", err
	}
	if !listed {
		return nil, "", api.ErrHeadNotFound
	}
	return session, lane, nil
}

func (s *Stepwell) lanes() string {
	var b bytes.Buffer
	for i, l := range s.opts.Landing.Lanes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(l.Lane)
	}
	return b.String()
}

// listed reports whether the session lists a head: it is the default one, or a head or stack ref names it.
func (s *Stepwell) listed(ctx context.Context, session *kernel.Session, name string) (bool, error) {
	if name == DefaultHead {
		return true, nil
	}
	if err := ref.CheckHead(name); err != nil {
		return false, api.Invalid("/head", "%v", err)
	}
	oids, err := session.ReadRefs(ctx, ref.Head(name), ref.Stack(name))
	if err != nil {
		return false, fault(err)
	}
	return !oids[0].IsZero() || !oids[1].IsZero(), nil
}

// used reports whether the change that a key was used for is the one that same knows.
func used(ctx context.Context, session *kernel.Session, change object.OID, same func(object.Body) (bool, error)) (bool, error) {
	o, ok, err := session.GetObject(ctx, change)
	if err != nil {
		return false, fault(err)
	}
	if !ok {
		return true, nil // a change that is gone was once accepted under the key
	}
	first, ok := o.(object.Change)
	if !ok {
		return false, nil
	}
	return same(first.Body)
}

// saysSame reports whether b is a user message of this content.
func saysSame(b object.Body, content api.Content) (bool, error) {
	body, ok := b.(object.MessageBody)
	if !ok {
		return false, nil
	}
	said, ok := body.Message.(message.User)
	if !ok {
		return false, nil
	}
	before, err := api.Marshal(api.Content(said.Content))
	if err != nil {
		return false, err
	}
	now, err := api.Marshal(content)
	if err != nil {
		return false, err
	}
	return bytes.Equal(before, now), nil
}

// invalid turns the kernel's refusal of an argument into the service's.
func invalid(err error) error {
	if errors.Is(err, kernel.ErrInvalid) || errors.Is(err, object.ErrInvalid) {
		return api.Invalid("", "%v", err)
	}
	return fault(err)
}

// reading opens a session for an operation on a head, which has to be listed.
func (s *Stepwell) reading(ctx context.Context, opts api.HeadOptions) (*kernel.Session, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	listed, err := s.listed(ctx, session, head(opts.Head))
	if err != nil {
		return nil, err
	}
	if !listed {
		return nil, api.ErrHeadNotFound
	}
	return session, nil
}
