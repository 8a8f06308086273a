package ref_test

import (
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// A name that parses is exactly the name that its parts make.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"refs/heads/main", "refs/stacks/a", "refs/runs/a", "refs/queues/main/steer/tip", "refs/queues/main/steer/base", "refs/effects/run_1/%2F",
		"refs/keys/%_", "refs/facts/a/%2E", "refs/cancelled/" + strings.Repeat("a", 64), "refs/deleted", "refs/tags/x", "refs/keys/", "refs/facts/a//b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := ref.Parse(ref.Name(s))
		if err != nil {
			if parsed != nil {
				t.Fatalf("Parse(%q) = %#v and %v", s, parsed, err)
			}
			return
		}
		if err := ref.Name(s).Check(); err != nil {
			t.Fatalf("parses and is invalid: %v", err)
		}
		if got := build(parsed); string(got) != s {
			t.Fatalf("%q parses as %#v, whose name is %q", s, parsed, got)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if back, err := ref.Unescape(ref.Escape(s)); err != nil || back != s {
			t.Fatalf("%q comes back as %q, %v", s, back, err)
		}
		if raw, err := ref.Unescape(s); err == nil && ref.Escape(raw) != s {
			t.Fatalf("%q and %q both stand for %q", s, ref.Escape(raw), raw)
		}
	})
}

func build(p ref.Parsed) ref.Name {
	switch p := p.(type) {
	case ref.HeadRef:
		return ref.Head(p.Head)
	case ref.StackRef:
		return ref.Stack(p.Head)
	case ref.RunRef:
		return ref.Run(p.Head)
	case ref.QueueRef:
		if p.Position == ref.Tip {
			return ref.QueueTip(p.Head, p.Lane)
		}
		return ref.QueueBase(p.Head, p.Lane)
	case ref.EffectRef:
		return ref.Effect(p.Run, p.Call)
	case ref.KeyRef:
		return ref.Key(p.Key)
	case ref.FactRef:
		return ref.Fact(p.Key)
	case ref.TombstoneRef:
		return ref.Tombstone(p.Change)
	case ref.DeletedRef:
		return ref.Deleted
	case ref.OtherRef:
		return p.Name
	}
	panic("unreachable")
}
