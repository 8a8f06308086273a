package kernel

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// MaxFact is the largest value of a fact, in bytes of JSON.
const MaxFact = 64 << 10

// Fact returns a session fact; ok is false when it is not set.
func (s *Session) Fact(ctx context.Context, key string) (value jsontext.Value, ok bool, err error) {
	oids, err := s.ReadRefs(ctx, ref.Fact(key))
	if err != nil {
		return nil, false, fmt.Errorf("read fact %q: %w", key, err)
	}
	if oids[0].IsZero() {
		return nil, false, nil
	}
	o, _, err := s.GetObject(ctx, oids[0])
	if err != nil {
		return nil, false, err
	}
	blob, isBlob := o.(object.Blob)
	if !isBlob {
		return nil, false, &missingError{oids[0], "a blob"}
	}
	return blob.Value, true, nil
}

// SetFact sets a session fact, or removes it when value is empty. The last writer wins. Setting what is there writes nothing.
func (s *Session) SetFact(ctx context.Context, key string, value jsontext.Value, actor *object.Actor) error {
	if key == "" {
		return fmt.Errorf("%w: fact key is empty", ErrInvalid)
	}
	if len(value) > MaxFact {
		return fmt.Errorf("%w: fact %q has %d bytes, the limit is %d", ErrInvalid, key, len(value), MaxFact)
	}
	opts := store.UpdateOptions{Reason: "fact", Actor: actor}
	var to object.OID
	if len(value) > 0 {
		enc, err := object.Encode(object.Blob{Value: value})
		if err != nil {
			return fmt.Errorf("%w: fact %q: %w", ErrInvalid, key, err)
		}
		to, opts.Objects = enc.OID, []object.Encoded{enc}
	}
	oids, err := s.ReadRefs(ctx, ref.Fact(key))
	if err != nil {
		return fmt.Errorf("read fact %q: %w", key, err)
	}
	from := oids[0]
	for range MaxAttempts {
		if from == to {
			return nil
		}
		outcome, err := s.UpdateRefs(ctx, []store.Update{{Name: ref.Fact(key), From: from, To: to}}, opts)
		if err != nil {
			return fmt.Errorf("set fact %q: %w", key, err)
		}
		c, conflict := outcome.(store.UpdateConflict)
		if !conflict {
			return nil
		}
		from = c.Actual
	}
	return fmt.Errorf("set fact %q: %w", key, ErrContention)
}

// MarkDeleted marks the session as being deleted: every step is idle from now on and every runner publish fails. Marking twice is
// harmless.
func (s *Session) MarkDeleted(ctx context.Context, actor *object.Actor) error {
	value, err := json.Marshal(struct {
		At object.Millis `json:"at"`
	}{s.Now()})
	if err != nil {
		return err
	}
	mark, err := object.Encode(object.Blob{Value: value})
	if err != nil {
		return err
	}
	_, err = s.UpdateRefs(ctx, []store.Update{{Name: ref.Deleted, To: mark.OID}}, store.UpdateOptions{
		Reason: "delete", Actor: actor, Objects: []object.Encoded{mark},
	})
	if err != nil {
		return fmt.Errorf("mark the session as deleted: %w", err)
	}
	return nil
}
