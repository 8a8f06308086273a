package memstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
)

func create(t *testing.T, s store.Store, id store.SessionID) store.Session {
	t.Helper()
	out, err := s.CreateSession(t.Context(), store.CreateOptions{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	created, ok := out.(store.SessionCreated)
	if !ok {
		t.Fatalf("got %T, want SessionCreated", out)
	}
	return created.Session
}

// TestWatchesWakeAtOnce proves that no watch polls: every goroutine of the bubble rests between writes, and no time passes
// until each watcher has what was written.
func TestWatchesWakeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		a := create(t, s, "a")
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var events, sessions int
		go func() {
			for range a.WatchEvents(ctx, 0) {
				events++
			}
		}()
		go func() {
			for range s.Another().WatchSessions(ctx) {
				sessions++
			}
		}()
		for i := range 5 {
			synctest.Wait()
			if events != i || sessions != i+1 {
				t.Errorf("after %d writes: %d events and %d sessions", i, events, sessions)
			}
			notice := []store.EventBody{store.NoticeEvent{Level: store.Info}}
			if _, err := a.AppendEvents(ctx, notice, nil); err != nil {
				t.Fatal(err)
			}
			create(t, s, store.SessionID([]string{"b", "c", "d", "e", "f"}[i]))
		}
		synctest.Wait()
		if passed := time.Since(start); passed != 0 || events != 5 || sessions != 6 {
			t.Errorf("%d events and %d sessions came in %v", events, sessions, passed)
		}
		cancel()
		synctest.Wait()
	})
}

func TestAnotherOutlivesTheFirst(t *testing.T) {
	first := memstore.New(nil)
	create(t, first, "a")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Another().OpenSession(t.Context(), "a"); err != nil {
		t.Errorf("a handle made after Close: %v", err)
	}
}

func TestObjectsNotMadeByEncodeAreRefused(t *testing.T) {
	s := create(t, memstore.New(nil), "a")
	good, err := object.Encode(object.Blob{Value: []byte(`1`)})
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]object.Encoded{
		"nothing":      {},
		"another body": {OID: good.OID, Body: []byte(`{"kind":"blob","value":2}`)},
	} {
		objs := []object.Encoded{good, bad}
		if err := s.PutObjects(t.Context(), objs); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: put gave %v, want ErrInvalid", name, err)
		}
		_, err := s.UpdateRefs(t.Context(), []store.Update{{Name: "refs/x", To: good.OID}}, store.UpdateOptions{Reason: "r", Objects: objs})
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: update gave %v, want ErrInvalid", name, err)
		}
	}
	if list, err := s.ListObjects(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("stored are %v, %v", list, err)
	}
}

func TestAnEndedContextWritesNothing(t *testing.T) {
	s := create(t, memstore.New(nil), "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.UpdateRefs(ctx, []store.Update{{Name: "refs/x", To: object.Hash(nil)}}, store.UpdateOptions{Reason: "r"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if last, err := s.LastSeq(t.Context()); err != nil || last != 0 {
		t.Errorf("the last sequence number is %d, %v", last, err)
	}
}

func TestPlantingNeedsAPlace(t *testing.T) {
	s := memstore.New(nil)
	if err := s.PlantObject("none", object.Hash(nil), nil); !errors.Is(err, store.ErrUnknownSession) {
		t.Errorf("planting in no session gave %v", err)
	}
	create(t, s, "a")
	if err := s.PlantEvent("a", 1, []byte(`{}`)); err == nil {
		t.Error("an event that is not there was replaced")
	}
}
