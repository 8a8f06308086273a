package storetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
)

// A process is a faulty handle on data that the test also sees directly.
type process struct {
	*storetest.Faulty
	session store.Session // through the faulty handle; opening it was call 1
	direct  store.Session
	another func() *storetest.Faulty
}

func newProcess(t *testing.T) process {
	t.Helper()
	data := memstore.New(nil)
	out, err := data.CreateSession(t.Context(), store.CreateOptions{ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	f := storetest.NewFaulty(data.Another())
	s, err := f.OpenSession(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return process{f, s, out.(store.SessionCreated).Session, func() *storetest.Faulty {
		return storetest.NewFaulty(data.Another())
	}}
}

func oid(s string) object.OID { return object.Hash([]byte(s)) }

func create(ctx context.Context, s store.Session, name ref.Name, to string) (store.UpdateOutcome, error) {
	return s.UpdateRefs(ctx, []store.Update{{Name: name, To: oid(to)}}, store.UpdateOptions{Reason: "because"})
}

func read(t *testing.T, s store.Session, name ref.Name) object.OID {
	t.Helper()
	oids, err := s.ReadRefs(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return oids[0]
}

func isOp(op storetest.Op) func(storetest.Call) bool {
	return func(c storetest.Call) bool { return c.Op == op }
}

func TestFaultyFailsTheChosenCallOnly(t *testing.T) {
	for _, tc := range []struct {
		name string
		plan func(*storetest.Faulty)
		want object.OID
	}{
		{"before by number", func(f *storetest.Faulty) { f.FailBefore(2) }, object.OID{}},
		{"after by number", func(f *storetest.Faulty) { f.FailAfter(2) }, oid("x")},
		{"next before", func(f *storetest.Faulty) {
			f.FailNext(storetest.Before, isOp(storetest.OpUpdateRefs))
		}, object.OID{}},
		{"next after", func(f *storetest.Faulty) {
			f.FailNext(storetest.After, isOp(storetest.OpUpdateRefs))
		}, oid("x")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProcess(t)
			tc.plan(p.Faulty)
			if out, err := create(t.Context(), p.session, "refs/a", "x"); !errors.Is(err, storetest.ErrInjected) || out != nil {
				t.Fatalf("got %v, %v; want only ErrInjected", out, err)
			}
			if got := read(t, p.direct, "refs/a"); got != tc.want {
				t.Errorf("the ref is %q, want %q", got, tc.want)
			}
			if _, err := create(t.Context(), p.session, "refs/b", "x"); err != nil {
				t.Errorf("the call after the failed one: %v", err)
			}
		})
	}
}

func TestFaultyKill(t *testing.T) {
	for _, tc := range []struct {
		at   storetest.Moment
		want object.OID
	}{
		{storetest.Before, object.OID{}},
		{storetest.After, oid("x")},
	} {
		t.Run(tc.at.String(), func(t *testing.T) {
			p := newProcess(t)
			p.Kill(3, tc.at)
			if _, err := create(t.Context(), p.session, "refs/first", "x"); err != nil {
				t.Fatalf("the call before the last: %v", err)
			}
			select {
			case <-p.Dead():
				t.Fatal("dead too early")
			default:
			}
			if _, err := create(t.Context(), p.session, "refs/a", "x"); !errors.Is(err, storetest.ErrKilled) {
				t.Fatalf("got %v, want ErrKilled", err)
			}
			<-p.Dead()
			if _, err := create(t.Context(), p.session, "refs/b", "x"); !errors.Is(err, storetest.ErrKilled) {
				t.Errorf("after death: got %v, want ErrKilled", err)
			}
			if _, err := p.OpenSession(t.Context(), "s"); !errors.Is(err, storetest.ErrKilled) {
				t.Errorf("after death: got %v, want ErrKilled", err)
			}
			if got := read(t, p.direct, "refs/a"); got != tc.want {
				t.Errorf("the ref is %q, want %q", got, tc.want)
			}
			if got := read(t, p.direct, "refs/b"); !got.IsZero() {
				t.Error("a dead process wrote")
			}
			if _, err := p.another().OpenSession(t.Context(), "s"); err != nil {
				t.Errorf("the next process: %v", err)
			}
		})
	}
}

func TestFaultyKillEndsWatches(t *testing.T) {
	p := newProcess(t)
	ends := make(chan error)
	started := make(chan struct{}, 2)
	p.Hook(storetest.Before, func(c storetest.Call) {
		if c.Op == storetest.OpWatchEvents || c.Op == storetest.OpWatchSessions {
			started <- struct{}{}
		}
	})
	go func() {
		for _, err := range p.session.WatchEvents(t.Context(), 0) {
			ends <- err
		}
	}()
	go func() {
		for _, err := range p.WatchSessions(t.Context()) {
			if err != nil {
				ends <- err
			}
		}
	}()
	<-started
	<-started
	p.KillNow()
	for range 2 {
		if err := <-ends; !errors.Is(err, storetest.ErrKilled) {
			t.Errorf("a watch ended with %v, want ErrKilled", err)
		}
	}
}

func TestFaultyFailsWatches(t *testing.T) {
	for _, tc := range []struct {
		at   storetest.Moment
		want int
	}{{storetest.Before, 0}, {storetest.After, 1}} {
		t.Run(tc.at.String(), func(t *testing.T) {
			p := newProcess(t)
			if _, err := create(t.Context(), p.session, "refs/a", "x"); err != nil {
				t.Fatal(err)
			}
			p.FailNext(tc.at, isOp(storetest.OpWatchEvents))
			n := 0
			for _, err := range p.session.WatchEvents(t.Context(), 0) {
				if err != nil {
					if !errors.Is(err, storetest.ErrInjected) {
						t.Error(err)
					}
					break
				}
				n++
			}
			if n != tc.want {
				t.Errorf("got %d events before the fault, want %d", n, tc.want)
			}
		})
	}
}

func TestFaultyGateHoldsOneCall(t *testing.T) {
	for _, tc := range []struct {
		at   storetest.Moment
		want object.OID
	}{
		{storetest.Before, object.OID{}},
		{storetest.After, oid("x")},
	} {
		t.Run(tc.at.String(), func(t *testing.T) {
			p := newProcess(t)
			gate := p.Gate(tc.at, isOp(storetest.OpUpdateRefs))
			done := make(chan error)
			go func() {
				_, err := create(t.Context(), p.session, "refs/a", "x")
				done <- err
			}()
			c := gate.Wait()
			if c.Reason != "because" || !slices.Equal(c.Names, []ref.Name{"refs/a"}) {
				t.Errorf("held %v", c)
			}
			if got := read(t, p.direct, "refs/a"); got != tc.want {
				t.Errorf("while held, the ref is %q, want %q", got, tc.want)
			}
			if _, err := create(t.Context(), p.session, "refs/b", "x"); err != nil {
				t.Errorf("a second call: %v", err)
			}
			gate.Release()
			gate.Release()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got := read(t, p.direct, "refs/a"); got != oid("x") {
				t.Errorf("after release, the ref is %q", got)
			}
		})
	}
}

func TestFaultyGateLetsGo(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(process, context.CancelFunc)
		want error
	}{
		{"at death", func(p process, _ context.CancelFunc) { p.KillNow() }, storetest.ErrKilled},
		{"at the end of the context", func(_ process, cancel context.CancelFunc) { cancel() }, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProcess(t)
			gate := p.Gate(storetest.Before, isOp(storetest.OpUpdateRefs))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error)
			go func() {
				_, err := create(ctx, p.session, "refs/a", "x")
				done <- err
			}()
			gate.Wait()
			tc.end(p, cancel)
			if err := <-done; !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if got := read(t, p.direct, "refs/a"); !got.IsZero() {
				t.Error("the held call took effect")
			}
		})
	}
}

func TestFaultyHookActsInBetween(t *testing.T) {
	p := newProcess(t)
	p.Hook(storetest.Before, func(c storetest.Call) {
		if c.Op != storetest.OpUpdateRefs {
			return
		}
		if _, err := create(t.Context(), p.direct, "refs/a", "theirs"); err != nil {
			t.Error(err)
		}
	})
	out, err := create(t.Context(), p.session, "refs/a", "mine")
	if diff := cmp.Diff(store.UpdateOutcome(store.UpdateConflict{Name: "refs/a", Actual: oid("theirs")}), out); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestFaultyNumbersEveryCall goes through the whole interface: each method is one call with its own name, passes the result
// through, and can be failed.
func TestFaultyNumbersEveryCall(t *testing.T) {
	blob, err := object.Encode(object.Blob{Value: []byte(`1`)})
	if err != nil {
		t.Fatal(err)
	}
	notice := []store.EventBody{store.NoticeEvent{Level: store.Info, Owner: "o", Message: "m"}}
	lease := store.Lease{Name: "refs/a", Owner: "nobody", Fence: 1}
	ctx := t.Context()
	methods := []struct {
		op   storetest.Op
		call func(f *storetest.Faulty, s store.Session) error
	}{
		{storetest.OpCreateSession, func(f *storetest.Faulty, _ store.Session) error {
			_, err := f.CreateSession(ctx, store.CreateOptions{ID: "t"})
			return err
		}},
		{storetest.OpOpenSession, func(f *storetest.Faulty, _ store.Session) error {
			_, err := f.OpenSession(ctx, "s")
			return err
		}},
		{storetest.OpListSessions, func(f *storetest.Faulty, _ store.Session) error {
			_, err := f.ListSessions(ctx, store.ListOptions{})
			return err
		}},
		{storetest.OpWatchSessions, func(f *storetest.Faulty, _ store.Session) error {
			for _, err := range f.WatchSessions(ctx) {
				return err
			}
			return nil
		}},
		{storetest.OpInfo, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.Info(ctx)
			return err
		}},
		{storetest.OpPutObjects, func(_ *storetest.Faulty, s store.Session) error {
			return s.PutObjects(ctx, []object.Encoded{blob})
		}},
		{storetest.OpGetObject, func(_ *storetest.Faulty, s store.Session) error {
			o, ok, err := s.GetObject(ctx, blob.OID)
			if err == nil && (!ok || o == nil) {
				t.Error("the object is missing")
			}
			return err
		}},
		{storetest.OpGetObjects, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.GetObjects(ctx, []object.OID{blob.OID})
			return err
		}},
		{storetest.OpChain, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.Chain(ctx, blob.OID, object.OID{}, 1)
			return err
		}},
		{storetest.OpListObjects, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.ListObjects(ctx)
			return err
		}},
		{storetest.OpDeleteObjects, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.DeleteObjects(ctx, []object.OID{oid("none")}, 1)
			return err
		}},
		{storetest.OpUpdateRefs, func(_ *storetest.Faulty, s store.Session) error {
			_, err := create(ctx, s, "refs/a", "x")
			return err
		}},
		{storetest.OpReadRefs, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.ReadRefs(ctx, "refs/a")
			return err
		}},
		{storetest.OpListRefs, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.ListRefs(ctx, "refs/")
			return err
		}},
		{storetest.OpAcquireLease, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.AcquireLease(ctx, "refs/a", time.Minute)
			return err
		}},
		{storetest.OpReadLease, func(_ *storetest.Faulty, s store.Session) error {
			l, ok, err := s.ReadLease(ctx, "refs/a")
			if err == nil && (!ok || l.Fence != 1) {
				t.Errorf("the lease is %v, %v", l, ok)
			}
			return err
		}},
		{storetest.OpRenewLease, func(_ *storetest.Faulty, s store.Session) error {
			_, _, err := s.RenewLease(ctx, lease, time.Minute)
			return err
		}},
		{storetest.OpReleaseLease, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.ReleaseLease(ctx, lease)
			return err
		}},
		{storetest.OpAppendEvents, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.AppendEvents(ctx, notice, nil)
			return err
		}},
		{storetest.OpReadEvents, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.ReadEvents(ctx, 0, 0)
			return err
		}},
		{storetest.OpLastSeq, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.LastSeq(ctx)
			return err
		}},
		{storetest.OpFloor, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.Floor(ctx)
			return err
		}},
		{storetest.OpWatchEvents, func(_ *storetest.Faulty, s store.Session) error {
			for _, err := range s.WatchEvents(ctx, 0) {
				return err
			}
			return nil
		}},
		{storetest.OpTrimEvents, func(_ *storetest.Faulty, s store.Session) error {
			_, err := s.TrimEvents(ctx, 1)
			return err
		}},
		{storetest.OpDeleteSession, func(f *storetest.Faulty, _ store.Session) error {
			return f.DeleteSession(ctx, "s")
		}},
	}
	p := newProcess(t)
	for i, m := range methods {
		n := p.Count() + 1
		if n != i*2+2 {
			t.Fatalf("%s would be call %d, want %d", m.op, n, i*2+2)
		}
		p.FailBefore(n)
		if err := m.call(p.Faulty, p.session); !errors.Is(err, storetest.ErrInjected) {
			t.Errorf("%s: got %v, want ErrInjected", m.op, err)
		}
		if err := m.call(p.Faulty, p.session); err != nil {
			t.Errorf("%s: %v", m.op, err)
		}
		for _, c := range p.Calls()[n-1:] {
			if c.Op != m.op {
				t.Errorf("call %v is named so, want %s", c, m.op)
			}
		}
	}
	if err := errors.Join(p.session.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if n := p.Count(); n != len(methods)*2+1 {
		t.Errorf("closing was numbered: %d calls", n)
	}
}

func TestCallString(t *testing.T) {
	c := storetest.Call{N: 3, Op: storetest.OpUpdateRefs, Session: "s", Reason: "land", Names: []ref.Name{"refs/a", "refs/b"}}
	if got, want := c.String(), `#3 UpdateRefs s "land" refs/a refs/b`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
