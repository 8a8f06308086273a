package dynstore_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// items returns how many items the table has.
func (r *rig) items() int {
	r.t.Helper()
	out, err := r.opts.Client.(*dynamodb.Client).Scan(r.t.Context(), &dynamodb.ScanInput{TableName: aws.String(r.opts.Table)})
	if err != nil {
		r.t.Fatal(err)
	}
	return len(out.Items)
}

// TestNothingRemains proves that a deleted session leaves no item and no body, also what writers put while it went.
func TestNothingRemains(t *testing.T) {
	t.Parallel()
	objs := []object.Encoded{blob(t, noise("middling", 4000)), blob(t, noise("large", 40_000))}
	update := func(r *rig) error {
		_, err := r.s.UpdateRefs(t.Context(), []store.Update{{Name: "refs/x", To: objs[0].OID}}, store.UpdateOptions{Reason: "r", Objects: objs})
		return err
	}
	for name, tc := range map[string]struct {
		at    string
		write func(*rig) error
	}{
		"deleted before a put":         {"BatchWriteItem", func(r *rig) error { return r.s.PutObjects(t.Context(), objs) }},
		"deleted before an update":     {"TransactGetItems", update},
		"deleted before its put":       {"BatchWriteItem", update},
		"deleted before it takes hold": {"TransactWriteItems", update},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			opts := r.opts
			other := open(t, opts)
			r.transport.Play(awsfault.Plan{{Op: tc.at, What: awsfault.Gate{Before: func() {
				if err := other.DeleteSession(t.Context(), "s"); err != nil {
					t.Error(err)
				}
			}}}})
			if err := tc.write(r); err != nil && !errors.Is(err, store.ErrUnknownSession) {
				t.Errorf("writing gave %v", err)
			}
			if n, left := r.items(), r.bodies.keys(); n > 0 || len(left) > 0 {
				t.Errorf("left are %d items and the bodies %q", n, left)
			}
		})
	}
}

// TestADeletionIsTakenUp proves that a deletion that was cut short is completed by the next one, and hides the session at once.
func TestADeletionIsTakenUp(t *testing.T) {
	t.Parallel()
	for nth := 1; nth <= 8; nth++ {
		r := newRig(t)
		if err := r.s.PutObjects(t.Context(), []object.Encoded{blob(t, noise("large", 40_000)), blob(t, "small")}); err != nil {
			t.Fatal(err)
		}
		r.transport.Play(awsfault.Kill(nth, nth%2 == 0))
		cut := r.store.DeleteSession(t.Context(), "s")
		r.transport.Play(nil)
		if err := open(t, r.opts).DeleteSession(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if n, left := r.items(), r.bodies.keys(); n > 0 || len(left) > 0 {
			t.Errorf("cut at %d (%v): left are %d items and the bodies %q", nth, cut, n, left)
		}
	}
}
