package main

import (
	"context"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// A patient looks broken in its first checks, and is written to during some of them.
type patient struct {
	api.Service
	broken, moving int
	seq            int64
	checks         int
}

func (p *patient) Watch(context.Context, api.WatchOptions) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) { yield(api.Event{Seq: p.seq, Body: api.SyncedEvent{}}, nil) }
}

func (p *patient) Fsck(context.Context, api.SessionOptions) (api.CheckReport, error) {
	p.checks++
	if p.checks <= p.moving {
		p.seq++
	}
	if p.checks <= p.broken {
		return api.CheckReport{Problems: []api.Problem{{Ref: "refs/runs/main", Detail: "broken"}}}, nil
	}
	return api.CheckReport{Problems: []api.Problem{}}, nil
}

func TestCheck_whatMovesIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		broken, moving int
		checks         int
		problems       int
		unsure         bool
	}{
		{"sound", 0, 9, 1, 0, false},
		{"broken while it stands still", 9, 0, 1, 1, false},
		{"looks broken while it moves", 1, 1, 2, 0, false},
		{"broken, and moves at first", 9, 2, 3, 1, false},
		{"never stands still", 9, 9, 3, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &patient{broken: tt.broken, moving: tt.moving}
			got, err := check(t.Context(), p, "s")
			if err != nil {
				t.Fatal(err)
			}
			if p.checks != tt.checks || len(got.Problems) != tt.problems || got.Moving != tt.unsure {
				t.Errorf("%d checks, %d problems, moving %t; want %d, %d, %t", p.checks, len(got.Problems), got.Moving, tt.checks, tt.problems, tt.unsure)
			}
		})
	}
}

func TestFsck_namesWhatIsBroken(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{out: &out, err: io.Discard}
	report, err := check(t.Context(), &patient{broken: 9}, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.writeCheck(report); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "s: refs/runs/main: broken\n"; got != want {
		t.Errorf("fsck says %q, want %q", got, want)
	}
}
