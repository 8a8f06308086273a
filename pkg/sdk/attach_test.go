package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

func attach(k *kit, host *sdk.Stepwell, sessions ...api.SessionID) {
	k.Helper()
	if err := host.Attach(k.ctx, sdk.AttachOptions{Sessions: sessions}); err != nil {
		k.Fatal(err)
	}
}

func TestC201_TheHostThatComesLateIsBusyAndAsksNoModel(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		open, streams := make(chan struct{}), make(chan struct{})
		k := newKit(t, s, nil, scripted.Do(func() { close(streams) }), scripted.Gate(open), scripted.Text("hi"))
		k.attach()
		k.send("hello", "", "")
		<-streams
		late, _, player := k.faulty(scripted.Text("me too"))
		lease := k.snapshot().Run.Lease
		o := do[api.StepOutcome](k)(late.Step(k.ctx, k.head()))
		busy, ok := o.(api.StepBusy)
		if !ok || lease == nil || busy.Holder != lease.Owner || busy.ExpiresAt < lease.ExpiresAt {
			t.Errorf("the late host answers %#v, the lease is %+v", o, lease)
		}
		attach(k, late)
		close(open)
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		if n := len(player.Requests()); n != 0 {
			t.Errorf("the late host asked %d times", n)
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: hi"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// Field report B28: of hosts that attach at the same moment one runs, whichever it is.
func TestB28_OfManyHostsThatAttachAtOnceOneRuns(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.send("hello", "", "")
		var together sync.WaitGroup
		for range 8 {
			host := k.newHost(e.option)
			together.Go(func() { attach(k, host) })
		}
		together.Wait()
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		if n := e.calls.Load(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// Field report B27: two processes on one store, each with a runner and with clients.
func TestB27_TwoProcessesAnswerEachMessageOnceAndInOrder(t *testing.T) {
	handles(t, func(t *testing.T, open func() store.Store) {
		e := &echo{}
		k := newKit(t, open(), e.option)
		hosts := []*sdk.Stepwell{k.hostOver(open(), e.option), k.hostOver(open(), e.option)}
		for _, h := range hosts {
			attach(k, h)
		}
		const each = 100
		var clients sync.WaitGroup
		for i, h := range hosts {
			for c := range 4 {
				clients.Go(func() {
					for n := range each / 4 {
						text := fmt.Sprintf("%d.%d.%d", i, c, n)
						if _, err := h.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: api.Text(text), Key: text}); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		clients.Wait()
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		said := k.said()
		if len(said) != 4*each || e.calls.Load() != 2*each {
			t.Fatalf("%d parts, %d requests", len(said), e.calls.Load())
		}
		next := make(map[string]int)
		for i := 0; i < len(said); i += 2 {
			text := strings.TrimPrefix(said[i], "user: ")
			if said[i+1] != "assistant: re: "+text {
				t.Fatalf("%q is followed by %q", said[i], said[i+1])
			}
			client, n, _ := cutLast(text)
			if n != fmt.Sprint(next[client]) {
				t.Errorf("client %s: %s comes at place %d", client, n, next[client])
			}
			next[client]++
		}
	})
}

// cutLast splits s at its last point.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndex(s, ".")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func TestC207_FiftySendersAtOnceMakeOneChain(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.attach()
		var senders sync.WaitGroup
		for i := range 50 {
			senders.Go(func() { k.send(fmt.Sprint("message ", i), "", "") })
		}
		senders.Wait()
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		said := k.said()
		if len(said) != 100 {
			t.Fatalf("%d parts", len(said))
		}
		// Answers come in the order in which the messages were accepted.
		i := 0
		for _, e := range k.events(0) {
			if q, ok := e.Body.(api.QueuedEvent); ok {
				text := message.PlainText(q.Item.Content)
				if said[i] != "user: "+text || said[i+1] != "assistant: re: "+text {
					t.Errorf("%q is answered as %q, %q", text, said[i], said[i+1])
				}
				i += 2
			}
		}
	})
}

// Field report B41: a hint that came before a host looked, or never, costs nothing.
func TestB41_AHostFindsTheWorkThatWasThereBeforeIt(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.send("before", "", "")
		k.trim(int64(k.mark().seq)) // no event tells of it
		k.attach()
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		if diff := cmp.Diff([]string{"user: before", "assistant: re: before"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC197_AHostRunsSessionsThatComeLaterAndOnesMadeAnew(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.attach()
		client := k.newHost(nil) // which keeps a handle on what another host deletes
		for round := range 3 {
			text := fmt.Sprint("round ", round)
			if _, err := client.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: api.Text(text)}); err != nil {
				t.Fatal(err)
			}
			if o := do[api.WaitOutcome](k)(client.WaitRun(k.ctx, k.head())); o != (api.Idle{}) {
				t.Errorf("%#v", o)
			}
			if diff := cmp.Diff([]string{"user: " + text, "assistant: re: " + text}, k.said()); diff != "" {
				t.Error(diff)
			}
			maker := k.newHost(nil)
			if err := maker.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.GetSession(k.ctx, api.SessionOptions{SessionID: k.id}); !errors.Is(err, api.ErrSessionNotFound) {
				t.Errorf("a client finds the deleted session: %v", err)
			}
			// The one who makes it again may have a handle on the one that is gone.
			got := do[api.CreateSessionOutcome](k)(client.CreateSession(k.ctx, api.CreateSessionOptions{SessionID: k.id}))
			if _, created := got.(api.SessionCreated); !created {
				t.Errorf("made again: %#v", got)
			}
		}
	})
}

func TestC206_AHostRunsOnlyTheSessionsItWasGiven(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		do[api.CreateSessionOutcome](k)(k.host.CreateSession(k.ctx, api.CreateSessionOptions{SessionID: "ses_other"}))
		do[api.SendReceipt](k)(k.host.Send(k.ctx, api.SendOptions{SessionID: "ses_other", Content: api.Text("not mine")}))
		attach(k, k.host, k.id)
		k.send("mine", "", "")
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		if diff := cmp.Diff([]string{"mine"}, e.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// Conformance 206: concurrent opens share one handle, also the first ones.
func TestC206_ConcurrentOperationsOfANewHostShareASession(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		host, f, _ := k.faulty()
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				if _, err := host.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: api.Text(fmt.Sprint(i))}); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		opened := 0
		for _, c := range f.Calls() {
			if c.Op == "OpenSession" {
				opened++
			}
		}
		do[[]api.PendingItem](k)(host.Pending(k.ctx, k.head()))
		if n := len(f.Calls()); opened > 16 || f.Calls()[n-1].Op == "OpenSession" {
			t.Errorf("opened %d times", opened)
		}
		k.settle()
		if n := e.calls.Load(); n != 16 {
			t.Errorf("%d answers", n)
		}
	})
}

func TestC216_ClosedHostsRefuseEverything(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		host := k.newHost(nil)
		do[api.SessionInfo](k)(host.GetSession(k.ctx, api.SessionOptions{SessionID: k.id}))
		for range 2 {
			if err := host.Close(); err != nil {
				t.Fatal(err)
			}
		}
		head := k.head()
		k.writesNothing("a closed host", func() {
			for name, call := range map[string]func() error{
				"Attach": func() error { return host.Attach(k.ctx, sdk.AttachOptions{}) },
				"CreateSession": func() error {
					_, err := host.CreateSession(k.ctx, api.CreateSessionOptions{SessionID: "ses_late"})
					return err
				},
				"ListSessions":  func() error { _, err := host.ListSessions(k.ctx, api.ListSessionsOptions{}); return err },
				"GetSession":    func() error { _, err := host.GetSession(k.ctx, api.SessionOptions{SessionID: k.id}); return err },
				"DeleteSession": func() error { return host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}) },
				"Snapshot":      func() error { _, err := host.Snapshot(k.ctx, head); return err },
				"Step":          func() error { _, err := host.Step(k.ctx, head); return err },
				"WaitRun":       func() error { _, err := host.WaitRun(k.ctx, head); return err },
				"Send": func() error {
					_, err := host.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: api.Text("late")})
					return err
				},
				"Watch": func() error {
					for _, err := range host.Watch(k.ctx, api.WatchOptions{SessionID: k.id}) {
						return err
					}
					return nil
				},
			} {
				if err := call(); !errors.Is(err, api.ErrClosed) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
		if _, err := s.OpenSession(context.Background(), "ses_late"); !errors.Is(err, store.ErrUnknownSession) {
			t.Errorf("a closed host made a session: %v", err)
		}
	})
}
