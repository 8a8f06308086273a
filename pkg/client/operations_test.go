package client_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

var (
	blob  = `{"kind":"blob","value":1}`
	oidA  = object.Hash([]byte("a"))
	oidB  = object.Hash([]byte(blob))
	ada   = &object.Actor{UserID: "ada"}
	info  = api.SessionInfo{SessionID: "s", Name: "n", Heads: []string{"main"}}
	run   = api.RunInfo{RunID: "run_1", Head: "main", Phase: object.Respond{}, StartedAt: 1}
	items = []api.PendingItem{{Change: oidA, Lane: "steer", At: 1, Content: api.Text("hi")}}
)

// An echo is a service that remembers what it was asked and answers the same every time.
type echo struct {
	got []any
	err error
}

func note[T any](e *echo, opts any, out T) (T, error) {
	e.got = append(e.got, opts)
	var none T
	if e.err != nil {
		return none, e.err
	}
	return out, nil
}

func (e *echo) Landing(context.Context) (api.Landing, error) {
	return note(e, nil, api.Landing{Lanes: []api.LaneInfo{{Lane: "steer", Lands: "boundary"}}, Drain: "one"})
}

func (e *echo) CreateSession(_ context.Context, o api.CreateSessionOptions) (api.CreateSessionOutcome, error) {
	return note[api.CreateSessionOutcome](e, o, api.SessionCreated{Session: info})
}

func (e *echo) GetSession(_ context.Context, o api.SessionOptions) (api.SessionInfo, error) {
	if len(e.got) > 0 && isPatch(e.got[len(e.got)-1]) {
		return info, e.err // the answer of a PATCH, not what was asked
	}
	return note(e, o, info)
}

func (e *echo) ListSessions(_ context.Context, o api.ListSessionsOptions) (api.SessionPage, error) {
	return note(e, o, api.SessionPage{Items: []api.SessionInfo{info}, Next: "x", HasMore: true})
}

func (e *echo) RenameSession(_ context.Context, o api.RenameSessionOptions) error {
	_, err := note(e, o, 0)
	return err
}

func (e *echo) SetPinned(_ context.Context, o api.FlagSessionOptions) error {
	_, err := note(e, pinned(o), 0)
	return err
}

func (e *echo) SetArchived(_ context.Context, o api.FlagSessionOptions) error {
	_, err := note(e, o, 0)
	return err
}

func (e *echo) DeleteSession(_ context.Context, o api.DeleteSessionOptions) error {
	_, err := note(e, o, 0)
	return err
}

func (e *echo) Configure(_ context.Context, o api.ConfigureOptions) (api.ConfigureOutcome, error) {
	return note[api.ConfigureOutcome](e, o, api.UnknownModel{})
}

func (e *echo) Snapshot(_ context.Context, o api.HeadOptions) (api.Snapshot, error) {
	return note(e, o, api.Snapshot{
		Seq: 3, Session: info, Head: "main", Transcript: []api.TranscriptItem{}, Pending: items, Run: &run,
		Parked: []api.ParkedCall{{RunID: "run_1", CallID: "c", WaitID: oidA, Tool: "ask", Args: jsontext.Value(`{}`)}},
	})
}

func (e *echo) Send(_ context.Context, o api.SendOptions) (api.SendReceipt, error) {
	return note[api.SendReceipt](e, o, api.Duplicate{Change: oidA})
}

func (e *echo) Cancel(_ context.Context, o api.CancelOptions) (api.CancelOutcome, error) {
	return note[api.CancelOutcome](e, o, api.Landed{})
}

func (e *echo) Redeliver(_ context.Context, o api.RedeliverOptions) (api.RedeliverOutcome, error) {
	return note[api.RedeliverOutcome](e, o, api.Redelivered{Change: oidB})
}

func (e *echo) ListMessages(_ context.Context, o api.TranscriptOptions) (api.TranscriptPage, error) {
	return note(e, o, api.TranscriptPage{Items: []api.TranscriptItem{api.SummaryMarker{ID: oidA, Text: "t"}}, Next: oidB, HasMore: true})
}

func (e *echo) Pending(_ context.Context, o api.HeadOptions) ([]api.PendingItem, error) {
	return note(e, o, items)
}

func (e *echo) CurrentRun(_ context.Context, o api.HeadOptions) (*api.RunInfo, error) {
	if o.Head == "idle" {
		return note[*api.RunInfo](e, o, nil)
	}
	return note(e, o, &run)
}

func (e *echo) Abort(_ context.Context, o api.AbortOptions) (api.AbortOutcome, error) {
	return note[api.AbortOutcome](e, o, api.Requested{RunID: "run_1"})
}

func (e *echo) WaitRun(_ context.Context, o api.HeadOptions) (api.WaitOutcome, error) {
	return note[api.WaitOutcome](e, o, api.Waiting{RunID: "run_1"})
}

func (e *echo) Reply(_ context.Context, o api.ReplyOptions) (api.ReplyOutcome, error) {
	return note[api.ReplyOutcome](e, o, api.Signalled{})
}

func (e *echo) Context(_ context.Context, o api.HeadOptions) (api.ContextStatus, error) {
	return note(e, o, api.ContextStatus{EstimatedTokens: 5})
}

func (e *echo) RunChanges(_ context.Context, o api.RunChangesOptions) (api.Changes, error) {
	return note(e, o, api.Changes{RunID: "run_1", Commits: []api.CommitItem{}})
}

func (e *echo) Usage(_ context.Context, o api.HeadOptions) (api.UsageSummary, error) {
	return note(e, o, api.UsageSummary{Models: []api.ModelUsage{{Model: "m"}}})
}

func (e *echo) ListHeads(_ context.Context, o api.SessionOptions) ([]api.HeadInfo, error) {
	return note(e, o, []api.HeadInfo{{Head: "main", Tip: oidA}})
}

func (e *echo) CreateHead(_ context.Context, o api.CreateHeadOptions) (api.CreateHeadOutcome, error) {
	return note[api.CreateHeadOutcome](e, o, api.HeadCreated{Tip: oidA})
}

func (e *echo) MoveHead(_ context.Context, o api.MoveHeadOptions) (api.MoveOutcome, error) {
	return note[api.MoveOutcome](e, o, api.Busy{Run: run})
}

func (e *echo) DeleteHead(_ context.Context, o api.DeleteHeadOptions) (api.DeleteHeadOutcome, error) {
	return note[api.DeleteHeadOutcome](e, o, api.HeadBusy{})
}

func (e *echo) MergeHead(_ context.Context, o api.MergeHeadOptions) (api.MergeOutcome, error) {
	return note[api.MergeOutcome](e, o, api.NoStack{})
}

func (e *echo) AdvanceBase(_ context.Context, o api.AdvanceBaseOptions) (api.AdvanceOutcome, error) {
	return note[api.AdvanceOutcome](e, o, api.Diverged{})
}

func (e *echo) Watch(context.Context, api.WatchOptions) iter.Seq2[api.Event, error] {
	return func(func(api.Event, error) bool) {}
}

func (e *echo) Step(_ context.Context, o api.HeadOptions) (api.StepOutcome, error) {
	return note[api.StepOutcome](e, o, api.Finished{RunID: "run_1", Phase: object.Done{}})
}

func (e *echo) Refs(_ context.Context, o api.RefsOptions) ([]api.RefInfo, error) {
	return note(e, o, []api.RefInfo{{Name: "refs/heads/main", OID: oidA}})
}

func (e *echo) Reflog(_ context.Context, o api.ReflogOptions) ([]api.ReflogEntry, error) {
	return note(e, o, []api.ReflogEntry{{Seq: 1, Name: "refs/heads/main", To: oidA, Reason: "land"}})
}

func (e *echo) Object(_ context.Context, o api.ObjectOptions) (api.StoredObject, error) {
	return note(e, o, api.StoredObject{OID: oidB, Kind: "blob", Body: jsontext.Value(blob)})
}

func (e *echo) Tree(_ context.Context, o api.HeadOptions) (api.Tree, error) {
	return note(e, o, api.Tree{Nodes: []api.TreeNode{{OID: oidA, Kind: "note", Heads: []string{}}}})
}

func (e *echo) Fsck(_ context.Context, o api.SessionOptions) (api.CheckReport, error) {
	return note(e, o, api.CheckReport{Objects: 1, Problems: []api.Problem{{Invariant: 41, OID: oidA, Detail: "d"}}})
}

func (e *echo) Trim(_ context.Context, o api.TrimOptions) (api.TrimReport, error) {
	return note(e, o, api.TrimReport{Floor: 9})
}

func (e *echo) Collect(_ context.Context, o api.CollectOptions) (api.CollectReport, error) {
	return note(e, o, api.CollectReport{Scanned: 3, Reachable: 2, Swept: 1})
}

type pinned api.FlagSessionOptions

func isPatch(o any) bool {
	switch o.(type) {
	case api.RenameSessionOptions, api.FlagSessionOptions, pinned:
		return true
	}
	return false
}

type operation struct {
	name string
	call func(context.Context, api.Service) (any, error)
}

// op binds a method to its options.
func op[O, R any](name string, method func(api.Service, context.Context, O) (R, error), opts O) operation {
	return operation{name, func(ctx context.Context, s api.Service) (any, error) { return method(s, ctx, opts) }}
}

// op0 is op for a method that returns only an error.
func op0[O any](name string, method func(api.Service, context.Context, O) error, opts O) operation {
	return operation{name, func(ctx context.Context, s api.Service) (any, error) { return nil, method(s, ctx, opts) }}
}

func operations() []operation {
	type svc = api.Service
	head := api.HeadOptions{SessionID: "s", Head: "try%2 é"}
	return []operation{
		{"Landing", func(ctx context.Context, s svc) (any, error) { return s.Landing(ctx) }},
		op("CreateSession", svc.CreateSession, api.CreateSessionOptions{SessionID: "s", Name: "n", Key: "k", Actor: ada}),
		op("GetSession", svc.GetSession, api.SessionOptions{SessionID: "s"}),
		op("ListSessions", svc.ListSessions, api.ListSessionsOptions{Owner: "ö & x", Cursor: "a&b", Limit: 7}),
		op0("RenameSession", svc.RenameSession, api.RenameSessionOptions{SessionID: "s", Actor: ada}),
		op0("SetPinned", svc.SetPinned, api.FlagSessionOptions{SessionID: "s", On: true}),
		op0("SetArchived", svc.SetArchived, api.FlagSessionOptions{SessionID: "s", Actor: ada}),
		op0("DeleteSession", svc.DeleteSession, api.DeleteSessionOptions{SessionID: "s", Actor: ada}),
		op("Configure", svc.Configure, api.ConfigureOptions{SessionID: "s", Head: "h", Model: &object.Model{ID: "m"}, Lane: "queue", Key: "k"}),
		op("Snapshot", svc.Snapshot, head),
		op("Send", svc.Send, api.SendOptions{SessionID: "s", Head: "h", Lane: "l", Content: api.Text("héllo"), Agent: "a", Key: "k\"ey", Actor: ada}),
		op("Cancel", svc.Cancel, api.CancelOptions{SessionID: "s", Head: "h", Change: oidA, Actor: ada}),
		op("Redeliver", svc.Redeliver, api.RedeliverOptions{SessionID: "s", Change: oidA, Lane: "l", Content: api.Text("new"), Before: oidB}),
		op("Redeliver to the end", svc.Redeliver, api.RedeliverOptions{SessionID: "s", Change: oidA, End: true}),
		op("ListMessages", svc.ListMessages, api.TranscriptOptions{SessionID: "s", Head: "h", Before: oidA, Limit: 3}),
		op("Pending", svc.Pending, head),
		op("CurrentRun", svc.CurrentRun, head),
		op("CurrentRun of an idle head", svc.CurrentRun, api.HeadOptions{SessionID: "s", Head: "idle"}),
		op("Abort", svc.Abort, api.AbortOptions{SessionID: "s", Head: "h", Actor: ada}),
		op("WaitRun", svc.WaitRun, head),
		op("Reply", svc.Reply, api.ReplyOptions{SessionID: "s", RunID: "r", CallID: "c", WaitID: oidA, Reply: jsontext.Value(`{"picked":["y"]}`), Actor: ada}),
		op("Context", svc.Context, head),
		op("RunChanges", svc.RunChanges, api.RunChangesOptions{SessionID: "s", Head: "h", RunID: "run_1"}),
		op("Usage", svc.Usage, head),
		op("ListHeads", svc.ListHeads, api.SessionOptions{SessionID: "s"}),
		op("CreateHead", svc.CreateHead, api.CreateHeadOptions{SessionID: "s", Head: "h", Parent: "main", Actor: ada}),
		op("MoveHead", svc.MoveHead, api.MoveHeadOptions{SessionID: "s", Head: "h é", To: api.At(oidA), Expect: api.At(object.OID{}), Actor: ada}),
		op("DeleteHead", svc.DeleteHead, api.DeleteHeadOptions{SessionID: "s", Head: "h", Expect: api.At(oidA), Actor: ada}),
		op("DeleteHead of an unborn one", svc.DeleteHead, api.DeleteHeadOptions{SessionID: "s", Head: "h", Expect: api.At(object.OID{})}),
		op("MergeHead", svc.MergeHead, api.MergeHeadOptions{SessionID: "s", Head: "h", Expect: api.At(oidA), Actor: ada}),
		op("AdvanceBase", svc.AdvanceBase, api.AdvanceBaseOptions{SessionID: "s", Head: "h", Actor: ada}),
		op("Step", svc.Step, head),
		op("Refs", svc.Refs, api.RefsOptions{SessionID: "s", Prefix: "refs/heads/"}),
		op("Reflog", svc.Reflog, api.ReflogOptions{SessionID: "s", Ref: "refs/heads/main", Limit: 2}),
		op("Object", svc.Object, api.ObjectOptions{SessionID: "s", OID: oidB}),
		op("Tree", svc.Tree, head),
		op("Fsck", svc.Fsck, api.SessionOptions{SessionID: "s"}),
		op("Trim", svc.Trim, api.TrimOptions{SessionID: "s", Before: 4}),
		op("Collect", svc.Collect, api.CollectOptions{SessionID: "s", GraceMS: 60_000}),
	}
}

// What a service is asked over HTTP, and what it answers, is the same as in one process.
func TestEveryOperationOverHTTP(t *testing.T) {
	for _, o := range operations() {
		t.Run(o.name, func(t *testing.T) {
			direct, remote := &echo{}, &echo{}
			want, err := o.call(t.Context(), direct)
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.call(t.Context(), connect(t, remote, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-direct +remote):\n%s", diff)
			}
			if diff := cmp.Diff(direct.got, remote.got); diff != "" {
				t.Errorf("question (-direct +remote):\n%s", diff)
			}
		})
	}
}

func TestMoveOfTheDefaultHead(t *testing.T) {
	e := &echo{}
	if _, err := connect(t, e, nil, nil).MoveHead(t.Context(), api.MoveHeadOptions{SessionID: "s", To: api.At(oidA)}); err != nil {
		t.Fatal(err)
	}
	want := []any{api.SessionOptions{SessionID: "s"}, api.MoveHeadOptions{SessionID: "s", Head: "main", To: api.At(oidA)}}
	if diff := cmp.Diff(want, e.got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsArriveAsThemselves(t *testing.T) {
	for _, want := range []error{
		api.ErrSessionNotFound, api.ErrHeadNotFound, api.ErrObjectNotFound, api.ErrRunNotFound, api.ErrKeyReused,
		api.ErrPreconditionFailed, api.ErrUnauthorized, api.ErrForbidden, api.ErrUnavailable, api.ErrCursorExpired, api.ErrInvalid,
	} {
		give := want
		switch {
		case errors.Is(want, api.ErrCursorExpired):
			give = &api.CursorExpiredError{Floor: 7}
		case errors.Is(want, api.ErrInvalid):
			give = &api.ValidationError{Field: "/lane", Detail: "is not served"}
		}
		_, err := connect(t, &echo{err: give}, nil, nil).Send(t.Context(), api.SendOptions{SessionID: "s", Content: api.Text("a")})
		if !errors.Is(err, want) {
			t.Errorf("%v arrived as %v", give, err)
		}
		var expired *api.CursorExpiredError
		if errors.As(err, &expired) && expired.Floor != 7 {
			t.Errorf("floor %d", expired.Floor)
		}
		var invalid *api.ValidationError
		if errors.As(err, &invalid) && (invalid.Field != "/lane" || invalid.Detail != "is not served") {
			t.Errorf("%+v", invalid)
		}
	}
	_, err := connect(t, &echo{err: errors.New("secret")}, nil, nil).Landing(t.Context())
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 500 || e.RequestID == "" || !strings.Contains(err.Error(), e.RequestID) {
		t.Errorf("got %v", err)
	}
}

func TestBadOptionsAreNotSent(t *testing.T) {
	e := &echo{}
	c := connect(t, e, nil, nil)
	if _, err := c.Send(t.Context(), api.SendOptions{SessionID: "s"}); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("send: %v", err)
	}
	if _, err := c.MoveHead(t.Context(), api.MoveHeadOptions{SessionID: "s"}); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("move: %v", err)
	}
	for _, err := range c.Watch(t.Context(), api.WatchOptions{}) {
		if !errors.Is(err, api.ErrInvalid) {
			t.Errorf("watch: %v", err)
		}
	}
	if e.got != nil {
		t.Errorf("the server saw %v", e.got)
	}
	for _, bad := range []string{"", "localhost:1", "ftp://x", "http://", "http://h/?q"} {
		if _, err := client.New(bad, nil); err == nil {
			t.Errorf("address %q was accepted", bad)
		}
	}
}

func TestOtherServersAnswers(t *testing.T) {
	answer := func(status int, header, value, body string) *client.Client {
		return connect(t, nil, &transport{handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})}, nil)
	}
	_, err := answer(503, "Retry-After", "7", "<html>").Landing(t.Context())
	var e *client.Error
	if !errors.Is(err, api.ErrUnavailable) || !errors.As(err, &e) || e.RetryAfter != 7*time.Second || !e.Temporary() {
		t.Errorf("503: %v", err)
	}
	_, err = answer(301, "Location", "https://elsewhere", "").Landing(t.Context())
	if err == nil || errors.Is(err, api.ErrUnavailable) {
		t.Errorf("301: %v", err)
	}
	if _, err = answer(200, "X", "y", "<html>").Landing(t.Context()); err == nil {
		t.Error("a page was taken for an answer")
	}
	if _, err = answer(200, "X", "y", `{"kind":"blob","value":2}`).Object(t.Context(), api.ObjectOptions{SessionID: "s", OID: oidB}); err == nil {
		t.Error("other bytes were taken for the object")
	}
}

func TestToken(t *testing.T) {
	var got string
	n := &transport{handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })}
	_, _ = connect(t, nil, n, &client.Options{Token: "s3cret"}).Landing(t.Context()) // only the header matters
	if got != "Bearer s3cret" {
		t.Errorf("sent %q", got)
	}
}

// A server bounds how long one request waits; a caller waits as long as it likes.
func TestWaitRunAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiter{until: time.Now().Add(time.Hour)}
		out, err := connect(t, w, nil, nil).WaitRun(t.Context(), api.HeadOptions{SessionID: "s"})
		if err != nil || out != (api.Idle{}) || w.calls < 100 {
			t.Errorf("%v, %v after %d requests", out, err, w.calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.until = time.Now().Add(time.Hour)
		if _, err := connect(t, w, nil, nil).WaitRun(ctx, api.HeadOptions{SessionID: "s"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

type waiter struct {
	echo
	until time.Time
	calls int
}

func (w *waiter) WaitRun(ctx context.Context, _ api.HeadOptions) (api.WaitOutcome, error) {
	w.calls++
	select {
	case <-time.After(time.Until(w.until)):
		return api.Idle{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
