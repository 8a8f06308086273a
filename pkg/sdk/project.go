package sdk

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// maxProjected bounds how far a head move is searched for the commits that it added.
const maxProjected = 10_000

// project returns the session events of one stored event, in the order in which they are told. It reads the objects that a ref event
// names; what has been collected since is left out.
func project(ctx context.Context, r store.Reader, e store.Event) ([]api.EventBody, error) {
	switch b := e.Body.(type) {
	case store.RefEvent:
		bodies, err := projectRef(ctx, r, b)
		if errors.Is(err, object.ErrCorrupt) {
			return nil, nil // the move itself stays readable in the reflog, and fsck names the damage
		}
		return bodies, err
	case store.DeltaEvent:
		if b.Part == store.ThinkingPart {
			return []api.EventBody{api.ReasoningDeltaEvent{RunID: b.RunID, Attempt: b.Attempt, Index: b.Index, Delta: b.Delta}}, nil
		}
		return []api.EventBody{api.TextDeltaEvent{RunID: b.RunID, Attempt: b.Attempt, Index: b.Index, Delta: b.Delta}}, nil
	case store.ProgressEvent:
		return []api.EventBody{api.ToolProgressEvent{RunID: b.RunID, CallID: b.CallID, Progress: api.Progress(b.Progress)}}, nil
	case store.NoticeEvent:
		return []api.EventBody{api.DiagnosticEvent{Level: api.Level(b.Level), Owner: b.Owner, Message: b.Message}}, nil
	}
	panic("unreachable")
}

func projectRef(ctx context.Context, r store.Reader, e store.RefEvent) ([]api.EventBody, error) {
	parsed, err := ref.Parse(e.Name)
	if err != nil {
		return nil, nil //nolint:nilerr // a ref of a family that this version does not know
	}
	switch n := parsed.(type) {
	case ref.HeadRef:
		return projectHead(ctx, r, n.Head, e)
	case ref.QueueRef:
		return projectQueue(ctx, r, n, e)
	case ref.TombstoneRef:
		if e.To.IsZero() {
			return nil, nil
		}
		return []api.EventBody{api.QueueCancelledEvent{Change: n.Change}}, nil
	case ref.RunRef:
		run, ok, err := load[object.Run](ctx, r, e.To)
		if err != nil || !ok {
			return nil, err
		}
		return []api.EventBody{api.RunEvent{Head: n.Head, Run: runInfo(run)}}, nil
	case ref.EffectRef:
		return projectEffect(ctx, r, e)
	case ref.StackRef:
		stack, ok, err := load[object.Stack](ctx, r, e.To)
		if err != nil || !ok {
			return nil, err
		}
		return []api.EventBody{api.StackEvent{Head: n.Head, Parent: stack.Parent, Base: stack.Base}}, nil
	case ref.FactRef:
		var value jsontext.Value
		blob, ok, err := load[object.Blob](ctx, r, e.To)
		if err != nil {
			return nil, err
		}
		if ok {
			value = blob.Value
		}
		return []api.EventBody{api.FactEvent{Key: n.Key, Value: value}}, nil
	case ref.DeletedRef:
		return []api.EventBody{api.DeletedEvent{}}, nil
	case ref.KeyRef, ref.OtherRef:
		return nil, nil
	}
	panic("unreachable")
}

// load reads an object of one kind; ok is false when it is absent, of another kind, or gone.
func load[T object.Object](ctx context.Context, r store.ObjectReader, oid object.OID) (T, bool, error) {
	var none T
	if oid.IsZero() {
		return none, false, nil
	}
	o, ok, err := r.GetObject(ctx, oid)
	if err != nil || !ok {
		return none, false, err
	}
	t, ok := o.(T)
	return t, ok, nil
}

// projectHead tells the move, and then every commit that it added, oldest first. A move backwards adds none.
func projectHead(ctx context.Context, r store.Reader, name string, e store.RefEvent) ([]api.EventBody, error) {
	out := []api.EventBody{api.HeadMovedEvent{Head: name, From: e.From, To: e.To, Reason: e.Reason, Actor: e.Actor}}
	if e.To.IsZero() {
		return out, nil
	}
	added, ok, err := view.Between(ctx, r, e.From, e.To, maxProjected)
	if errors.Is(err, object.ErrCorrupt) || err == nil && !ok {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, c := range added {
		out = append(out, api.CommitEvent{Head: name, Item: api.CommitItem{OID: c.OID, Commit: c.Commit}})
	}
	return out, nil
}

// projectQueue tells what a lane's end moved over: new user messages at the tip, landed changes at the base.
func projectQueue(ctx context.Context, r store.Reader, q ref.QueueRef, e store.RefEvent) ([]api.EventBody, error) {
	if e.To.IsZero() {
		return nil, nil
	}
	changes, err := view.ChangesBetween(ctx, r, e.From, e.To)
	if err != nil {
		return nil, err
	}
	var out []api.EventBody
	for _, c := range changes {
		switch q.Position {
		case ref.Tip:
			if item, ok := pendingItem(q.Lane, c.OID, c.Change); ok {
				out = append(out, api.QueuedEvent{Head: q.Head, Item: item})
			}
		case ref.Base:
			out = append(out, api.LandedEvent{Head: q.Head, Change: c.OID})
		}
	}
	return out, nil
}

func projectEffect(ctx context.Context, r store.Reader, e store.RefEvent) ([]api.EventBody, error) {
	effect, ok, err := load[object.Effect](ctx, r, e.To)
	if err != nil || !ok {
		return nil, err
	}
	intent, ok, err := load[object.Intent](ctx, r, object.IntentOf(e.To, effect))
	if err != nil || !ok {
		return nil, err
	}
	out := api.EffectEvent{
		RunID: intent.RunID, CallID: intent.CallID, State: api.EffectState(object.StateName(effect)), Tool: intent.Tool, Args: intent.Args,
	}
	if w, ok := effect.(object.Waiting); ok {
		out.WaitID, out.Until = e.To, w.Until
		if w.Selection != nil {
			out.Selection = new(message.Selection)
			*out.Selection = *w.Selection
		}
	}
	return []api.EventBody{out}, nil
}
