package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// recordLoss counts a response that may have streamed and was not published, so that the next one gets a number of its own and deltas of two
// attempts never share a key (invariant 39). It does nothing when the run is over, has gone on, or is someone else's by now.
func (st *step) recordLoss(ctx context.Context) error {
	if st.run.ID == "" {
		return errUnread
	}
	for range MaxAttempts {
		oids, err := st.ReadRefs(ctx, ref.Run(st.opts.Head))
		if err != nil {
			return fmt.Errorf("read the run of head %q: %w", st.opts.Head, err)
		}
		if oids[0].IsZero() {
			break
		}
		run, err := st.loadRun(ctx, oids[0])
		if err != nil {
			return err
		}
		if run.ID != st.run.ID || run.Attempts != st.run.Attempts || object.Terminal(run.Phase) {
			break
		}
		run.Attempts++
		var p publication
		p.move(ref.Run(st.opts.Head), oids[0], p.put(run))
		outcome, err := st.publish(ctx, &p, "takeover")
		if err != nil {
			return err
		}
		if c, conflict := outcome.(store.UpdateConflict); !conflict || c.Name == ref.Deleted {
			break
		}
	}
	st.uncounted = false
	return nil
}

var errUnread = errors.New("the run was not read")
