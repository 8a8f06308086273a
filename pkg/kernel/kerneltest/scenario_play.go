package kerneltest

import (
	"slices"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// Play brings one scenario to its end after one cut: others repeat what got no answer and carry on until nothing is left to do. cut plans the
// death of the process and returns whether it came to that, which Play returns.
func (sc Scenario) Play(t testing.TB, open storetest.Opener, cut func(k *Kit, p Process) (reached func() bool)) bool {
	t.Helper()
	k := New(t, open)
	k.Script.Toolbox = Asking()
	if sc.Setup != nil {
		sc.Setup(k)
	}
	p := k.Process()
	reached := cut(k, p)
	if err := sc.Act(k, p.Session); err != nil {
		k.SettleBusy()
		if err := sc.Act(k, k.Session); err != nil {
			t.Errorf("doing it again: %v", err)
		}
	}
	k.Settle()
	if err := Reply(k, k.Session); err != nil { // a call that was parked meanwhile
		t.Error(err)
	}
	last := k.Settle()
	if _, waits := last.(kernel.StepWaiting); waits {
		t.Error("the session still waits")
	}
	if runs := k.Script.Runs("pay"); runs > 1 {
		t.Errorf("a never tool ran %d times", runs)
	}
	if deleted := !k.Ref(ref.Deleted).IsZero(); len(k.PendingTexts()) > 0 && !deleted {
		t.Errorf("still pending: %q", k.PendingTexts())
	}
	if texts := k.Texts(); !slices.ContainsFunc(sc.Texts, func(want []string) bool { return slices.Equal(want, texts) }) {
		t.Errorf("the branch says %q, want one of %q", texts, sc.Texts)
	}
	return reached()
}

// SettleBusy lets the lease of a dead process expire.
func (k *Kit) SettleBusy() {
	k.Helper()
	if l, held, err := k.ReadLease(k.Ctx, ref.Head(Head)); err == nil && held {
		k.Clock.Advance(time.Duration(l.ExpiresAt-k.Now()) * time.Millisecond)
	}
}
