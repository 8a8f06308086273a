package ref_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// hostile are strings that have broken names, paths and keys elsewhere.
var hostile = []string{
	"", "a/b", "../x", "..", ".", "/", "/etc/passwd", "a\nb", "a b", "%", "%_", "%2F", "%2f", "%2e%2e", "#", "a#b", "\u2215", "@", "@{", "~", "*",
	"tip", "base", "refs/deleted", "x.lock", "\U0001F600", "\x00", "a\x00b", "\xff", "\xed\xa0\x80", "_", "__", "call_" + strings.Repeat("9", 295),
	strings.Repeat("/", 300), strings.Repeat("k", 4096),
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "%_", "call_Az09-": "call_Az09-", "a/b": "a%2Fb", ".": "%2E", "%_": "%25_", "\u00e9": "%C3%A9", "\x00": "%00", "\xff": "%FF", "~": "%7E",
	} {
		if got := ref.Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestUnescapeRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "%", "%2", "%2f", "%zz", "%61", "%5F", "%2D", "a%_", "%_a", "%__", "a.b", "a/b", "a b", "\u00e9", "\x00"} {
		if got, err := ref.Unescape(s); !errors.Is(err, ref.ErrBadName) || got != "" {
			t.Errorf("Unescape(%q) = %q, %v; want ErrBadName", s, got, err)
		}
	}
}

// Every string has one encoding, that encoding is a valid component, and it has no other reading.
func TestEscapeIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		ea, eb := ref.Escape(a), ref.Escape(b)
		if (a == b) != (ea == eb) {
			t.Fatalf("Escape(%q) = %q, Escape(%q) = %q", a, ea, b, eb)
		}
		if back, err := ref.Unescape(ea); err != nil || back != a {
			t.Fatalf("Unescape(%q) = %q, %v; want %q", ea, back, err, a)
		}
		if len(ea) <= ref.MaxLength {
			if err := ref.Name(ea).Check(); err != nil || strings.Contains(ea, "/") {
				t.Fatalf("Escape(%q) = %q is no component: %v", a, ea, err)
			}
		}
	})
}

// Field report B20: a provider's call id is data. None can break, forge or merge ref names.
func TestB20_CallIDs(t *testing.T) {
	t.Parallel()
	seen := map[ref.Name]string{}
	for _, id := range append(hostile, "a/b", "c/../d", "\"quoted\"", "call with spaces", strings.Repeat("x", 300)) {
		name := ref.Effect("run_1", id)
		if other, ok := seen[name]; ok && other != id {
			t.Errorf("call ids %q and %q share the name %q", id, other, name)
		}
		seen[name] = id
		if !strings.HasPrefix(string(name), ref.RunEffects("run_1")) || strings.Count(string(name), "/") != 3 {
			t.Errorf("call id %.40q leaves its run: %.80q", id, name)
		}
		if len(name) > ref.MaxLength {
			if err := name.Check(); !errors.Is(err, ref.ErrBadName) {
				t.Errorf("a name of %d bytes passes", len(name))
			}
			continue
		}
		if got, err := ref.Parse(name); err != nil || got != (ref.EffectRef{Run: "run_1", Call: id}) {
			t.Errorf("Parse(%q) = %#v, %v", name, got, err)
		}
	}
}

// Field report B64: NUL is refused in head and lane names; in keys and call ids it is encoded, so no ref name holds one.
func TestB64_NULInNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"\x00", "a\x00", "\x00a"} {
		if ref.CheckHead(name) == nil || ref.CheckLane(name) == nil || ref.Name("refs/x/"+name).Check() == nil {
			t.Errorf("%q is a valid name", name)
		}
		for _, n := range []ref.Name{ref.Key(name), ref.Fact(name), ref.Effect("r", name), ref.Effect(name, "c")} {
			if err := n.Check(); err != nil || strings.ContainsRune(string(n), 0) {
				t.Errorf("%q: %v", n, err)
			}
		}
	}
}

// Field report B89: no name climbs out of its place, and different strings stay different names.
func TestB89_NamesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"..", ".", "/", "a/b", "../x", "/etc/passwd", "a/../b", `..\x`, "C:\\x", strings.Repeat("a", 4096)} {
		if ref.CheckHead(s) == nil || ref.CheckLane(s) == nil {
			t.Errorf("%.40q is a head or lane name", s)
		}
	}
	keys, facts := map[ref.Name]string{}, map[ref.Name]string{}
	for _, s := range hostile {
		k, f := ref.Key(s), ref.Fact(s)
		if other, ok := keys[k]; ok {
			t.Errorf("keys %q and %q share %q", s, other, k)
		}
		if other, ok := facts[f]; ok {
			t.Errorf("facts %q and %q share %q", s, other, f)
		}
		keys[k], facts[f] = s, s
		for part := range strings.SplitSeq(string(k)+"/"+string(f), "/") {
			if part == ".." || part == "." || part == "" {
				t.Errorf("%.40q makes the path component %q", s, part)
			}
		}
	}
}
