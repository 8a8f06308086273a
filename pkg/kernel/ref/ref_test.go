package ref_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// Conformance 9: every family has its documented path, and reads back as its parts (13).
func TestFamilies(t *testing.T) {
	t.Parallel()
	oid := object.Hash([]byte("x"))
	for _, test := range []struct {
		name ref.Name
		path string
		want ref.Parsed
	}{
		{ref.Head("main"), "refs/heads/main", ref.HeadRef{Head: "main"}},
		{ref.Stack("main"), "refs/stacks/main", ref.StackRef{Head: "main"}},
		{ref.Run("main"), "refs/runs/main", ref.RunRef{Head: "main"}},
		{ref.QueueTip("main", "steer"), "refs/queues/main/steer/tip", ref.QueueRef{Head: "main", Lane: "steer", Position: ref.Tip}},
		{ref.QueueBase("main", "steer"), "refs/queues/main/steer/base", ref.QueueRef{Head: "main", Lane: "steer", Position: ref.Base}},
		{ref.Effect("run_1", "call_2"), "refs/effects/run_1/call_2", ref.EffectRef{Run: "run_1", Call: "call_2"}},
		{ref.Effect("run_1", ""), "refs/effects/run_1/%_", ref.EffectRef{Run: "run_1"}},
		{ref.Effect("a/b", "../c"), "refs/effects/a%2Fb/%2E%2E%2Fc", ref.EffectRef{Run: "a/b", Call: "../c"}},
		{ref.Key("k-1"), "refs/keys/k-1", ref.KeyRef{Key: "k-1"}},
		{ref.Key("a b"), "refs/keys/a%20b", ref.KeyRef{Key: "a b"}},
		{ref.Fact("name"), "refs/facts/name", ref.FactRef{Key: "name"}},
		{ref.Fact("plugin/a.b"), "refs/facts/plugin/a%2Eb", ref.FactRef{Key: "plugin/a.b"}},
		{ref.Fact("plugin//x"), "refs/facts/plugin/%_/x", ref.FactRef{Key: "plugin//x"}},
		{ref.Tombstone(oid), "refs/cancelled/" + oid.String(), ref.TombstoneRef{Change: oid}},
		{ref.Deleted, "refs/deleted", ref.DeletedRef{}},
		{"refs/tags/v1", "refs/tags/v1", ref.OtherRef{Name: "refs/tags/v1"}},
	} {
		if string(test.name) != test.path {
			t.Errorf("name %q, want %q", test.name, test.path)
		}
		if err := test.name.Check(); err != nil {
			t.Error(err)
		}
		if got, err := ref.Parse(test.name); err != nil || got != test.want {
			t.Errorf("Parse(%q) = %#v, %v; want %#v", test.name, got, err, test.want)
		}
	}
}

// A name that belongs to a family and breaks its form is refused, and so is one that no constructor makes.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 64)
	for _, name := range []ref.Name{
		"", "refs/heads/", "refs/heads/a/b", "refs/stacks/", "refs/runs/a/b",
		"refs/effects/", "refs/effects/run_1", "refs/effects/run_1/", "refs/effects//c", "refs/effects/run_1/a/b", "refs/effects/run_1/a.b",
		"refs/keys/", "refs/keys/a/b", "refs/keys/a+b", "refs/keys/%2f", "refs/keys/%2", "refs/keys/%", "refs/keys/%__", "refs/keys/%61", "refs/keys/a%_",
		"refs/facts/", "refs/facts/a//b", "refs/facts/a/", "refs/facts/a b",
		"refs/cancelled/", "refs/cancelled/abc", ref.Name("refs/cancelled/" + zeros), ref.Name("refs/cancelled/" + strings.Repeat("A", 64)),
		ref.Name("refs/keys/" + strings.Repeat("k", ref.MaxLength)),
	} {
		if got, err := ref.Parse(name); !errors.Is(err, ref.ErrBadName) || got != nil {
			t.Errorf("Parse(%.60q) = %#v, %v; want ErrBadName", name, got, err)
		}
	}
}

// Conformance 10: the queues of one head are not those of a head whose name starts the same.
func TestHeadQueues(t *testing.T) {
	t.Parallel()
	if prefix := ref.HeadQueues("main"); !strings.HasPrefix(string(ref.QueueTip("main", "steer")), prefix) ||
		strings.HasPrefix(string(ref.QueueTip("main-2", "steer")), prefix) {
		t.Errorf("prefix %q", prefix)
	}
}

// Conformance 11.
func TestParseQueue(t *testing.T) {
	t.Parallel()
	got, err := ref.ParseQueue("refs/queues/main/steer/base")
	if want := (ref.QueueRef{Head: "main", Lane: "steer", Position: ref.Base}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for name, bad := range map[string]ref.Name{
		"missing parts":    "refs/queues/main/steer",
		"unknown position": "refs/queues/main/steer/middle",
		"empty head":       "refs/queues//steer/tip",
		"empty lane":       "refs/queues/main//tip",
		"empty position":   "refs/queues/main/steer/",
		"too many parts":   "refs/queues/main/steer/tip/x",
		"another family":   "refs/heads/main",
		"prefix alone":     "refs/queues/",
		"bad head":         "refs/queues/a..b/steer/tip",
		"bad lane":         "refs/queues/main/.steer/tip",
	} {
		if got, err := ref.ParseQueue(bad); !errors.Is(err, ref.ErrBadName) || got != (ref.QueueRef{}) {
			t.Errorf("%s: ParseQueue(%q) = %+v, %v; want ErrBadName", name, bad, got, err)
		}
		if _, err := ref.Parse(bad); err == nil && name != "another family" {
			t.Errorf("%s: Parse accepts %q", name, bad)
		}
	}
}

// Conformance 12.
func TestRunEffects(t *testing.T) {
	t.Parallel()
	prefix := ref.RunEffects("run_1")
	if !strings.HasPrefix(string(ref.Effect("run_1", "c")), prefix) || strings.HasPrefix(string(ref.Effect("run_12", "c")), prefix) {
		t.Errorf("prefix %q", prefix)
	}
}

// Conformance 14 and 15.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, name := range []ref.Name{
		"refs/heads/main", "refs/a/b/c/d", "a", "refs/heads/\u4e3b\u7dda", "refs/heads/\U0001F600", "refs/heads/a\u2028b", "refs/x/100%",
		"refs/x/a{b}", "refs/x/a@b", "refs/x/@@", "refs/x/a.b", "refs/x/lock", "refs/x/a.lock.b", "refs/x/-", "refs/x/#'\"$&()<>|;,!=+",
		ref.Name(strings.Repeat("a", ref.MaxLength)),
	} {
		if err := name.Check(); err != nil {
			t.Error(err)
		}
	}
	for what, name := range map[string]ref.Name{
		"empty": "", "trailing slash": "refs/heads/", "leading slash": "/refs", "double slash": "refs//heads", "two dots": "refs/a..b",
		"at brace": "refs/a@{b", "space": "refs/a b", "leading dot": "refs/.a", "lock": "refs/a.lock", "lock inside": "refs/a.lock/b", "colon": "refs/a:b",
		"question mark": "refs/a?", "star": "refs/*", "bracket": "refs/a[b", "backslash": `refs/a\b`, "tilde": "refs/a~1", "caret": "refs/a^",
		"trailing dot": "refs/a.", "lone at": "@", "lone at inside": "refs/@/a", "NUL": "refs/a\x00", "line end": "refs/a\n", "delete": "refs/a\x7f",
		"invalid UTF-8": "refs/a\xff", "surrogate": "refs/\xed\xa0\x80", "parent directory": "refs/../a", "too long": ref.Name(strings.Repeat("a", ref.MaxLength+1)),
	} {
		if err := name.Check(); !errors.Is(err, ref.ErrBadName) {
			t.Errorf("%s: Check(%.60q) = %v, want ErrBadName", what, name, err)
		}
	}
}

// Conformance 16 and 52: what a head and a lane may not be called.
func TestHeadNamesRefused(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]string{
		"empty": "", "slash": "a/b", "leading slash": "/", "leading dot": ".a", "trailing dot": "a.", "dot": ".", "two dots": "a..b",
		"at brace": "a@{b", "at": "@", "lock": "a.lock", "space": "a b", "line end": "a\nb", "tab": "\t", "NUL": "a\x00", "delete": "\x7f",
		"invalid UTF-8": "\xc3", "too long": strings.Repeat("a", ref.MaxComponent+1), "glob": "*", "colon": "a:b",
	} {
		if err := ref.CheckHead(name); !errors.Is(err, ref.ErrBadName) || !strings.Contains(err.Error(), "head") {
			t.Errorf("%s: CheckHead(%.60q) = %v, want ErrBadName about the head", what, name, err)
		}
		if err := ref.CheckLane(name); !errors.Is(err, ref.ErrBadName) || !strings.Contains(err.Error(), "lane") {
			t.Errorf("%s: CheckLane(%.60q) = %v, want ErrBadName about the lane", what, name, err)
		}
	}
}

// Conformance 53: unusual names are legal, and stay apart and discoverable in every family they appear in.
func TestUnusualHeadNames(t *testing.T) {
	t.Parallel()
	for _, head := range []string{
		"\u4e3b\u7dda", "\U0001F600", "a\u2028b", "%2e%2e", "#", "a#b", "\u2215", "{}", "'\"", "a@b", "-", "--help", "$HOME", "a,b;c", "\u00e9", "e\u0301",
		strings.Repeat("x", ref.MaxComponent),
	} {
		if err := ref.CheckHead(head); err != nil {
			t.Error(err)
			continue
		}
		for name, want := range map[ref.Name]ref.Parsed{
			ref.Head(head):           ref.HeadRef{Head: head},
			ref.Stack(head):          ref.StackRef{Head: head},
			ref.Run(head):            ref.RunRef{Head: head},
			ref.QueueTip(head, head): ref.QueueRef{Head: head, Lane: head, Position: ref.Tip},
		} {
			if got, err := ref.Parse(name); err != nil || got != want {
				t.Errorf("Parse(%q) = %#v, %v", name, got, err)
			}
		}
	}
}
