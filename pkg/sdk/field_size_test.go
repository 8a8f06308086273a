package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// Field report B57: a stream of many pages is read and watched whole, from wherever a reader stands.
func TestB57_AStreamOfManyPagesHasNoGap(t *testing.T) {
	const total, each = 5000, 3 << 10
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		raw := k.raw()
		first := int64(k.mark().seq)
		for n := 0; n < total; n += 500 {
			bodies := make([]store.EventBody, 500)
			for i := range bodies {
				bodies[i] = store.NoticeEvent{Level: store.Info, Owner: "test", Message: fmt.Sprintf("%06d%s", n+i, strings.Repeat(".", each))}
			}
			if _, err := raw.AppendEvents(k.ctx, bodies, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, limit := range []int{0, 1, 999} {
			left := total
			if limit == 1 {
				left = 100 // the rest is the same
			}
			for after := store.Seq(first) + total - store.Seq(left); left > 0; {
				page, err := raw.ReadEvents(k.ctx, after, limit)
				if err != nil || len(page) == 0 {
					t.Fatalf("a page of %d after %d has %d events, %v, while %d are left", limit, after, len(page), err, left)
				}
				for _, e := range page {
					after++
					if n := e.Body.(store.NoticeEvent).Message; e.Seq != after || n[:6] != fmt.Sprintf("%06d", total-left) || len(n) != each+6 {
						t.Fatalf("event %d is %d and says %.6s, want %06d", after, e.Seq, n, total-left)
					}
					left--
				}
			}
		}
		for _, skip := range []int64{0, total - 1, total} {
			got := k.events(first + skip)
			if int64(len(got)) != total-skip {
				t.Errorf("a watch after %d events yields %d", skip, len(got))
			}
			for i, e := range got {
				if n := e.Body.(api.DiagnosticEvent); e.Seq != first+skip+int64(i)+1 || n.Message[:6] != fmt.Sprintf("%06d", skip+int64(i)) {
					t.Fatalf("a watch after %d events has %.6s at %d", skip, n.Message, e.Seq)
				}
			}
		}
	})
}

// Field report B57: a list of many pages has every session once, the newest first.
func TestB57_AListOfManyPagesHasNoGap(t *testing.T) {
	const total = 3000
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		want := []string{string(k.id)}
		for n := range total - 1 {
			want = append(want, fmt.Sprintf("ses_%06d", n))
			o, err := s.CreateSession(k.ctx, store.CreateOptions{ID: store.SessionID(want[n+1]), Reason: "test"})
			if err != nil {
				t.Fatal(err)
			}
			if err := o.(store.SessionCreated).Session.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		pages := 0
		for o := (api.ListSessionsOptions{Limit: api.MaxPage}); ; pages++ {
			page := do[api.SessionPage](k)(k.host.ListSessions(k.ctx, o))
			for _, row := range page.Items {
				got = append(got, string(row.SessionID))
			}
			if !page.HasMore {
				break
			}
			o.Cursor = page.Next
		}
		for i, j := 0, len(want)-1; i < j; i, j = i+1, j-1 {
			want[i], want[j] = want[j], want[i]
		}
		if diff := cmp.Diff(want, got); diff != "" || pages != total/api.MaxPage-1 {
			t.Errorf("%d more pages: %s", pages, diff)
		}
	})
}

// Field report B57: a page may be empty and still not be the last one.
func TestB57_AnEmptyPageIsNotTheEnd(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		for n := range 5 {
			do[api.CreateSessionOutcome](k)(k.host.CreateSession(k.ctx, api.CreateSessionOptions{SessionID: api.SessionID(fmt.Sprint("ses_", n))}))
		}
		host, f, _ := k.faulty()
		// Between the reading of the page and of its rows all of them are deleted.
		f.Hook(storetest.After, func(c storetest.Call) {
			if c.Op != storetest.OpListSessions || c.N > 1 {
				return
			}
			for n := 3; n < 5; n++ {
				if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: api.SessionID(fmt.Sprint("ses_", n))}); err != nil {
					t.Error(err)
				}
			}
		})
		page := do[api.SessionPage](k)(host.ListSessions(k.ctx, api.ListSessionsOptions{Limit: 2}))
		if len(page.Items) != 0 || !page.HasMore || page.Next == "" {
			t.Fatalf("the first page is %+v", page)
		}
		// A store may no longer know the place. It says so, and then a reader begins anew; it does not end the list early.
		rest, err := host.ListSessions(k.ctx, api.ListSessionsOptions{Cursor: page.Next})
		if errors.Is(err, api.ErrInvalid) {
			rest, err = host.ListSessions(k.ctx, api.ListSessionsOptions{})
		}
		var got []string
		for _, row := range rest.Items {
			got = append(got, string(row.SessionID))
		}
		if diff := cmp.Diff([]string{"ses_2", "ses_1", "ses_0", "ses_test"}, got); diff != "" || err != nil || rest.HasMore {
			t.Errorf("the rest is %v, %v: %s", rest, err, diff)
		}
	})
}

// Field report B58: a message of any size up to the limit is taken and answered. A larger one is refused before anything is written, and
// the session goes on.
func TestB58_MessagesUpToTheLimitAreTaken(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		for _, size := range []int{256<<10 - 1, 256 << 10, 399 << 10, 401 << 10, api.MaxText} {
			text := strings.Repeat("\u00e9", size/2) + strings.Repeat("x", size%2)
			k.player.Then(scripted.Text("ok"), scripted.End(message.StopEnd))
			k.send(text, "", "")
			k.settle()
			if said := k.said(); said[len(said)-2] != "user: "+text || said[len(said)-1] != "assistant: ok" {
				t.Errorf("%d bytes came back changed, or the answer is %.20q", size, said[len(said)-1])
			}
		}
		for _, size := range []int{api.MaxText + 1, 7 << 20} {
			host, f, _ := k.faulty()
			_, err := host.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: api.Text(strings.Repeat("x", size)), Key: "k"})
			refused, ok := errors.AsType[*api.ValidationError](err)
			if !ok || refused.Field != "/content" || !containsAll(refused.Detail, fmt.Sprint(size), fmt.Sprint(api.MaxText)) {
				t.Errorf("%d bytes: %v", size, err)
			}
			if n := f.Count(); n != 0 {
				t.Errorf("%d bytes: the store was asked %d times", size, n)
			}
		}
		k.player.Then(scripted.Text("on"), scripted.End(message.StopEnd))
		k.send("small", "", "k") // whose key is not used
		k.settle()
		if said := k.said(); said[len(said)-1] != "assistant: on" {
			t.Errorf("the session says %.40q", said[len(said)-1])
		}
	})
}

// Field report B58: what a tool returns beyond the limit is cut with a note, many large results are published together, and the run goes on.
func TestB58_LargeResultsAreCutAndRecorded(t *testing.T) {
	const calls, each = 100, 100 << 10
	stores(t, func(t *testing.T, s store.Store) {
		big := tool.Tool{
			Name: "big", Description: "Says much.", Parameters: []byte(`{"type":"object"}`), Replay: tool.ReplayNever,
			Execute: func(_ context.Context, c tool.Call) (tool.Outcome, error) {
				if c.ID == "huge" {
					return tool.Text(strings.Repeat("h", 12<<20)), nil
				}
				return tool.Text(c.ID + strings.Repeat(".", each)), nil
			},
		}
		steps := []scripted.Step{scripted.Call("huge", "big", `{}`), scripted.End(message.StopToolUse)}
		for i := range calls {
			steps = append(steps, scripted.Call(fmt.Sprint("c", i), "big", `{}`))
		}
		k := newKit(t, s, offers(big), append(steps, scripted.End(message.StopToolUse), scripted.Text("fine"), scripted.End(message.StopEnd),
			scripted.Text("on"), scripted.End(message.StopEnd))...)
		k.send("go", "", "")
		k.settle()
		results := k.results()
		cut := results["huge"]
		if left := 12<<20 - agent.MaxResultText; !strings.HasPrefix(cut, strings.Repeat("h", agent.MaxResultText)) ||
			!containsAll(cut[agent.MaxResultText:], fmt.Sprint(left), "left out") || len(cut) > agent.MaxResultText+200 {
			t.Errorf("the huge result has %d bytes and ends with %q", len(cut), cut[len(cut)-100:])
		}
		for i := range calls {
			id := fmt.Sprint("c", i)
			if results[id] != id+strings.Repeat(".", each) {
				t.Errorf("result %s has %d bytes", id, len(results[id]))
			}
		}
		k.send("and now", "", "")
		k.settle()
		if said := k.said(); said[len(said)-1] != "assistant: on" || k.phaseName() != "done" {
			t.Errorf("the run is %s and says %q", k.phaseName(), said[len(said)-1])
		}
	})
}
