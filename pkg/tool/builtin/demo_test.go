package builtin_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

func TestReplayPolicies(t *testing.T) {
	set, err := tool.NewSet(builtin.Ask(), builtin.Wait(), builtin.Clock(), builtin.Note(nil), builtin.Slow(nil))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tool.Replay{}
	for _, x := range set.All() {
		got[x.Name] = x.Replay
	}
	want := map[string]tool.Replay{
		"ask": tool.ReplaySafe, "wait": tool.ReplaySafe, "clock": tool.ReplaySafe, "note": tool.ReplayNever, "slow": tool.ReplayNever,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("replay policies (-want +got):\n%s", diff)
	}
}

func TestClock(t *testing.T) {
	wantText(t, asDone(t, mustRun(t, builtin.Clock(), `{}`)), "2026-03-31T23:33:20Z")
	wantError(t, asDone(t, mustRun(t, builtin.Clock(), `{"zone":"UTC"}`)), "unexpected additional properties")
}

func TestNote(t *testing.T) {
	var notes []string
	x := builtin.Note(func(_ context.Context, text string) error {
		notes = append(notes, text)
		return nil
	})
	wantText(t, asDone(t, mustRun(t, x, `{"text":"über \u0000 🙂"}`)), "Noted.")
	wantError(t, asDone(t, mustRun(t, x, `{"text":""}`)), "arguments.text: minLength")
	if diff := cmp.Diff([]string{"über \x00 🙂"}, notes); diff != "" {
		t.Fatalf("notes (-want +got):\n%s", diff)
	}
	full := errors.New("disk full")
	if _, err := run(t, builtin.Note(func(context.Context, string) error { return full }), `{"text":"a"}`); !errors.Is(err, full) {
		t.Fatalf("a failing sink: got %v", err)
	}
}

func TestSlow_emitsProgressEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []string
		out, err := builtin.Slow(nil).Execute(t.Context(), tool.Call{
			Arguments: jsontext.Value(`{"seconds":3}`),
			Progress: func(p tool.Progress) {
				got = append(got, time.Since(start).String()+": "+p.Text+" "+string(p.Details))
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, asDone(t, out), "Worked for 3 seconds.")
		want := []string{
			`1s: 1 of 3 seconds {"done":1,"of":3}`, `2s: 2 of 3 seconds {"done":2,"of":3}`, `3s: 3 of 3 seconds {"done":3,"of":3}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("progress (-want +got):\n%s", diff)
		}
	})
}

func TestSlow_stopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aborted := errors.New("aborted")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		_, err := builtin.Slow(nil).Execute(ctx, tool.Call{
			Arguments: jsontext.Value(`{"seconds":3600}`),
			Progress:  func(tool.Progress) { cancel(aborted) },
		})
		if !errors.Is(err, aborted) || err.Error() != "stopped after 1 of 3600 seconds: aborted" {
			t.Fatalf("got %v", err)
		}
	})
	wantError(t, asDone(t, mustRun(t, builtin.Slow(nil), `{"seconds":3601}`)), "arguments.seconds: maximum")
	wantError(t, asDone(t, mustRun(t, builtin.Slow(nil), `{"seconds":0}`)), "arguments.seconds: minimum")
}
