package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A lane takes messages as the kernel does: one change a key.
type lane struct {
	echo
	mu     sync.Mutex
	keys   map[string]object.OID
	landed []string
}

func (l *lane) Send(_ context.Context, o api.SendOptions) (api.SendReceipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Lane == "none" {
		return nil, api.Invalid("/lane", "is not served")
	}
	if oid, ok := l.keys[o.Key]; ok {
		return api.Duplicate{Change: oid}, nil
	}
	if l.keys == nil {
		l.keys = map[string]object.OID{}
	}
	oid := object.Hash([]byte(o.Key))
	l.keys[o.Key] = oid
	text, _ := api.Marshal(o.Content)
	l.landed = append(l.landed, string(text))
	return api.Queued{Change: oid}, nil
}

func said(texts ...string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, `[{"type":"text","text":"`+t+`"}]`)
	}
	return out
}

func message(text string) api.SendOptions {
	return api.SendOptions{SessionID: "s", Content: api.Text(text)}
}

// TestB22_LostAnswerIsSentAgainUnderOneKey: a send that landed and whose answer was lost does not become two.
func TestB22_LostAnswerIsSentAgainUnderOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lane{}
		requests := 0
		n := &transport{after: func(*http.Request) error {
			if requests++; requests <= 3 {
				return errNetwork
			}
			return nil
		}}
		var receipts []api.SendReceipt
		failures := 0
		box, err := client.OpenOutbox(t.Context(), connect(t, l, n, nil), &client.MemoryRows{}, &client.OutboxOptions{
			Delivered: func(_ client.Row, r api.SendReceipt) { receipts = append(receipts, r) },
			Failed:    func(client.Row, error) { failures++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		row, err := box.Enqueue(t.Context(), message("hello"))
		if err != nil || row.Key() == "" || len(box.Rows()) != 1 {
			t.Fatalf("%+v %v", row, err)
		}
		if err := box.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(said("hello"), l.landed); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]api.SendReceipt{api.Duplicate{Change: l.keys[row.Key()]}}, receipts); diff != "" {
			t.Error(diff)
		}
		if failures != 3 || len(box.Rows()) != 0 {
			t.Errorf("%d failures, %d rows", failures, len(box.Rows()))
		}
	})
}

// A message that was kept is delivered in order by the next process, under the key that the first one minted.
func TestOutboxSurvivesItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox.jsonl")
	rows, err := client.OpenFileRows(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.OpenFileRows(path); !errors.Is(err, client.ErrOutboxBusy) {
		t.Errorf("a second process got in: %v", err)
	}
	l := &lane{}
	box, err := client.OpenOutbox(t.Context(), l, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, text := range []string{"one", "two", "three", "four"} {
		row, err := box.Enqueue(t.Context(), message(text))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, row.Key())
	}
	if ok, err := box.Discard(t.Context(), keys[1]); !ok || err != nil {
		t.Fatal(ok, err)
	}
	// The first was sent, but the process died before it could note the receipt.
	if _, err := l.Send(t.Context(), box.Rows()[0].Options); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}

	for round := range 2 { // the second opens what the first rewrote
		rows, err = client.OpenFileRows(path)
		if err != nil {
			t.Fatal(err)
		}
		box, err = client.OpenOutbox(t.Context(), l, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, r := range box.Rows() {
			left = append(left, r.Key())
		}
		if diff := cmp.Diff([]string{keys[0], keys[2], keys[3]}, left); diff != "" {
			t.Fatalf("round %d:\n%s", round, diff)
		}
		if round == 0 {
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := box.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said("one", "three", "four"), l.landed); diff != "" {
		t.Error(diff)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err = client.OpenFileRows(path); err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if left, err := rows.Load(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

func TestOutboxFileCutShort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "outbox.jsonl")
	whole := `{"put":{"options":{"sessionId":"s","content":[{"type":"text","text":"a"}],"key":"k1"},"at":5}}` + "\n"
	last := `{"put":{"options":{"sessionId":"s","content":[{"type":"text","text":"b"}],"key":"k2"},"at":6}}` + "\n"
	for cut := range len(last) + 1 {
		if err := os.WriteFile(path, []byte(whole+last[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := client.OpenFileRows(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		list, _ := rows.Load(t.Context())
		want := 1
		if cut == len(last) {
			want = 2
		}
		if len(list) != want || list[0].Key() != "k1" {
			t.Fatalf("cut at %d: %+v", cut, list)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"nonsense\n" + whole, `{"put":{"options":{"sessionId":"s","content":"a"},"at":1}}` + "\n", `{"what":1}` + "\n"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := client.OpenFileRows(path); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", bad, err)
		}
		if kept, _ := os.ReadFile(path); string(kept) != bad {
			t.Errorf("a file that cannot be read was changed to %q", kept)
		}
	}
}

func TestOutboxRefusedRowHoldsNobodyUp(t *testing.T) {
	l := &lane{}
	var failed []client.Row
	box, err := client.OpenOutbox(t.Context(), connect(t, l, nil, nil), &client.MemoryRows{}, &client.OutboxOptions{
		Failed: func(r client.Row, _ error) { failed = append(failed, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	bad := message("bad")
	bad.Lane = "none"
	row, err := box.Enqueue(t.Context(), bad)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Enqueue(t.Context(), message("good")); err != nil {
		t.Fatal(err)
	}
	if err := box.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said("good"), l.landed); diff != "" {
		t.Error(diff)
	}
	left := box.Rows()
	if len(left) != 1 || left[0].Key() != row.Key() || left[0].Refused == "" || len(failed) != 1 {
		t.Errorf("left %+v, failed %+v", left, failed)
	}
	if ok, err := box.Discard(t.Context(), row.Key()); !ok || err != nil || len(box.Rows()) != 0 {
		t.Errorf("discard: %v %v", ok, err)
	}
	if ok, err := box.Discard(t.Context(), row.Key()); ok || err != nil {
		t.Errorf("discard again: %v %v", ok, err)
	}
}

func TestOutboxEnqueueRefusesWhatNobodyTakes(t *testing.T) {
	broken := &brokenRows{}
	box, err := client.OpenOutbox(t.Context(), &lane{}, broken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Enqueue(t.Context(), message(" ")); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("blank: %v", err)
	}
	keyed := message("a")
	keyed.Key = "k"
	if _, err := box.Enqueue(t.Context(), keyed); err != nil {
		t.Error(err)
	}
	if _, err := box.Enqueue(t.Context(), keyed); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("the same key twice: %v", err)
	}
	broken.err = errors.New("disk full")
	if _, err := box.Enqueue(t.Context(), message("b")); !errors.Is(err, broken.err) || len(box.Rows()) != 1 {
		t.Errorf("not kept: %v, %v", err, box.Rows())
	}
}

type brokenRows struct {
	client.MemoryRows
	err error
}

func (b *brokenRows) Put(ctx context.Context, r client.Row) error {
	if b.err != nil {
		return b.err
	}
	return b.MemoryRows.Put(ctx, r)
}

// Run delivers what comes while it waits and backs off from a server that is down.
func TestOutboxRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lane{}
		var attempts atomic.Int64
		var down atomic.Bool
		down.Store(true)
		n := &transport{before: func(*http.Request) error {
			if n := attempts.Add(1); down.Load() {
				return fmt.Errorf("attempt %d: %w", n, errNetwork)
			}
			return nil
		}}
		box, err := client.OpenOutbox(t.Context(), connect(t, l, n, nil), &client.MemoryRows{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- box.Run(ctx) }()
		synctest.Wait()
		if _, err := box.Enqueue(t.Context(), message("late")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// 0.5 s doubling to 30 s, half of it jitter: at least 20 and at most 45 attempts in ten minutes.
		if n := attempts.Load(); n < 20 || n > 45 {
			t.Errorf("%d attempts in ten minutes", n)
		}
		down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(said("late"), l.landed); diff != "" {
			t.Error(diff)
		}
		if _, err := box.Enqueue(t.Context(), message("later")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff(said("late", "later"), l.landed); diff != "" {
			t.Error(diff)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("run ended with %v", err)
		}
	})
}
