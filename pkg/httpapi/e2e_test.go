package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// embedded returns a host over a store in memory.
func embedded(t *testing.T, steps ...scripted.Step) *sdk.Stepwell {
	t.Helper()
	st := memstore.New(nil)
	tools, err := tool.NewSet(builtin.Ask())
	if err != nil {
		t.Fatal(err)
	}
	player := scripted.Play(steps...)
	host, err := sdk.New(sdk.Options{Store: st, Models: llm.NewCatalog(player), DefaultModel: player.Models()[0].Model, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(host.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return host
}

// serve runs a host over a store in memory behind a real HTTP server and returns a client of it.
func serve(t *testing.T, opts *httpapi.Options, steps ...scripted.Step) (context.Context, *client.Client, *sdk.Stepwell) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	host := embedded(t, steps...)
	handler := httpapi.New(host, opts)
	server := httptest.NewServer(obeying(t, handler))
	t.Cleanup(func() {
		handler.Close()
		server.Close()
	})
	c, err := client.New(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateSession(ctx, api.CreateSessionOptions{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	return ctx, c, host
}

func send(ctx context.Context, t *testing.T, c api.Service, o api.SendOptions) api.SendReceipt {
	t.Helper()
	o.SessionID = "s"
	got, err := c.Send(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A question parked by a tool is drawn from the snapshot alone and answered over HTTP, while a watch sees everything.
func TestEndToEnd_ParkedQuestion(t *testing.T) {
	ctx, c, host := serve(t, nil,
		scripted.Call("q", "ask", `{"title":"Which?","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}`),
		scripted.End(message.StopToolUse),
		scripted.Text("thanks"), scripted.End(message.StopEnd))
	if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	watched, ready := make(chan []string, 1), make(chan struct{})
	go func() {
		var kinds []string
		for e, err := range c.Watch(ctx, api.WatchOptions{SessionID: "s"}) {
			if err != nil {
				t.Error(err)
				break
			}
			kinds = append(kinds, api.EventKind(e.Body))
			if !e.Durable() {
				close(ready)
			}
			if run, ok := e.Body.(api.RunEvent); ok && object.Terminal(run.Run.Phase) {
				break
			}
		}
		watched <- kinds
	}()
	<-ready
	first := send(ctx, t, c, api.SendOptions{Content: api.Text("hello"), Key: "k"})
	queued, ok := first.(api.Queued)
	if !ok {
		t.Fatalf("receipt %#v", first)
	}
	if diff := cmp.Diff(api.SendReceipt(api.Duplicate(queued)), send(ctx, t, c, api.SendOptions{Content: api.Text("hello"), Key: "k"})); diff != "" {
		t.Error(diff)
	}
	waiting, err := c.WaitRun(ctx, api.HeadOptions{SessionID: "s"})
	if _, ok := waiting.(api.Waiting); !ok || err != nil {
		t.Fatalf("%#v %v", waiting, err)
	}
	snap, err := c.Snapshot(ctx, api.HeadOptions{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	local, err := host.Snapshot(ctx, api.HeadOptions{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(local, snap); diff != "" && snap.Seq == local.Seq {
		t.Errorf("snapshot over HTTP:\n%s", diff)
	}
	if len(snap.Parked) != 1 || snap.Parked[0].Selection == nil {
		t.Fatalf("parked: %+v", snap.Parked)
	}
	call := snap.Parked[0]
	answer := api.ReplyOptions{SessionID: "s", RunID: call.RunID, CallID: call.CallID, WaitID: call.WaitID, Reply: raw(`{"picked":["x"]}`)}
	if _, err := c.Reply(ctx, answer); err == nil || !strings.Contains(err.Error(), "x") {
		t.Errorf("a choice that is not there: %v", err)
	}
	answer.Reply = raw(`{"picked":["b"]}`)
	for _, want := range []api.ReplyOutcome{api.Signalled{}, nil} {
		got, err := c.Reply(ctx, answer)
		if err != nil {
			t.Fatal(err)
		}
		switch got.(type) {
		case api.Signalled:
			if want == nil {
				t.Error("the second answer won too")
			}
		case api.NotWaiting, api.NotFound:
			if want != nil {
				t.Errorf("the first answer got %#v", got)
			}
		}
	}
	if idle, err := c.WaitRun(ctx, api.HeadOptions{SessionID: "s"}); idle != (api.Idle{}) || err != nil {
		t.Errorf("%#v %v", idle, err)
	}
	kinds := strings.Join(<-watched, " ")
	for _, want := range []string{"queued", "synced", "landed", "commit", "effect", "text_delta", "run"} {
		if !strings.Contains(kinds, want) {
			t.Errorf("the watch saw no %s: %s", want, kinds)
		}
	}
}

// Fifty writers at once get a receipt each, and every message lands once and in one chain.
func TestEndToEnd_FiftyWriters(t *testing.T) {
	const writers = 50
	var steps []scripted.Step
	for range writers {
		steps = append(steps, scripted.Text("ok"), scripted.End(message.StopEnd))
	}
	ctx, c, host := serve(t, nil, steps...)
	errs := make(chan error, writers)
	for i := range writers {
		go func() {
			_, err := c.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text(fmt.Sprint("m", i)), Key: fmt.Sprint("k", i)})
			errs <- err
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	pending, err := c.Pending(ctx, api.HeadOptions{SessionID: "s"})
	if err != nil || len(pending) != writers {
		t.Fatalf("%d pending, %v", len(pending), err)
	}
	if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := c.WaitRun(ctx, api.HeadOptions{SessionID: "s"}); err != nil || out != (api.Idle{}) {
		t.Fatalf("%#v %v", out, err)
	}
	seen := map[string]int{}
	turns := 0
	for o := (api.TranscriptOptions{SessionID: "s", Limit: 7}); ; {
		page, err := c.ListMessages(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if turn, ok := item.(api.Turn); ok {
				turns++
				for _, p := range turn.Parts {
					if u, ok := p.(api.UserPart); ok {
						seen[u.Key]++
					}
				}
			}
		}
		if !page.HasMore {
			break
		}
		o.Before = page.Next
	}
	if turns != writers || len(seen) != writers {
		t.Errorf("%d turns of %d messages", turns, len(seen))
	}
	report, err := c.Fsck(ctx, api.SessionOptions{SessionID: "s"})
	if err != nil || len(report.Problems) != 0 {
		t.Errorf("fsck: %+v %v", report, err)
	}
}

// Streams that the server ends all the time still give one unbroken feed, equal to that of one stream.
func TestEndToEnd_PlannedEndsLoseNothing(t *testing.T) {
	long := strings.Repeat("word ", 200)
	ctx, c, host := serve(t, &httpapi.Options{MaxStream: 20 * time.Millisecond, Coalesce: -1},
		scripted.Text(long), scripted.End(message.StopEnd), scripted.Text(long), scripted.End(message.StopEnd))
	if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		send(ctx, t, c, api.SendOptions{Content: api.Text(text)})
	}
	var got []api.Event
	runs := map[string]bool{}
	for e, err := range c.Watch(ctx, api.WatchOptions{SessionID: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Durable() {
			continue
		}
		got = append(got, e)
		if run, ok := e.Body.(api.RunEvent); ok && object.Terminal(run.Run.Phase) {
			if runs[run.Run.RunID] = true; len(runs) == 2 {
				break
			}
		}
	}
	var want []api.Event
	for e, err := range host.Watch(ctx, api.WatchOptions{SessionID: "s"}) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Durable() || e.Seq > got[len(got)-1].Seq {
			break
		}
		want = append(want, e)
	}
	strip := func(events []api.Event) []string {
		var out []string
		for _, e := range events {
			data, err := api.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if kind := api.EventKind(e.Body); kind == "run" {
				data = []byte(kind) // whose lease is read when the event is
			}
			out = append(out, string(data))
		}
		return out
	}
	if diff := cmp.Diff(strip(want), strip(got)); diff != "" {
		t.Errorf("the feeds differ:\n%s", diff)
	}
}

func TestEndToEnd_Refusals(t *testing.T) {
	ctx, c, _ := serve(t, nil)
	send(ctx, t, c, api.SendOptions{Content: api.Text("a"), Key: "k"})
	snap, err := c.Snapshot(ctx, api.HeadOptions{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Trim(ctx, api.TrimOptions{SessionID: "s", Before: snap.Seq}); err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	for _, err := range c.Watch(ctx, api.WatchOptions{SessionID: "s", AfterSeq: &zero}) {
		check("below the floor", err, api.ErrCursorExpired)
		break
	}
	_, err = c.Snapshot(ctx, api.HeadOptions{SessionID: "nobody"})
	check("no session", err, api.ErrSessionNotFound)
	_, err = c.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text("other"), Key: "k"})
	check("key reused", err, api.ErrKeyReused)
	_, err = c.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text("a"), Lane: "nolane"})
	check("lane", err, api.ErrInvalid)
	_, err = c.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text("a"), Head: "a..b"})
	check("head", err, api.ErrInvalid)
	_, err = c.Object(ctx, api.ObjectOptions{SessionID: "s", OID: oidA})
	check("object", err, api.ErrObjectNotFound)
	_, err = c.MergeHead(ctx, api.MergeHeadOptions{SessionID: "s", Head: "main", Expect: api.At(oidA)})
	check("expectation", err, api.ErrPreconditionFailed)
	for _, err := range c.Watch(ctx, api.WatchOptions{SessionID: "nobody"}) {
		check("watch of no session", err, api.ErrSessionNotFound)
		break
	}
	if again, err := c.Pending(ctx, api.HeadOptions{SessionID: "s"}); err != nil || len(again) != 1 {
		t.Errorf("%d pending after all refusals, %v", len(again), err)
	}
}
