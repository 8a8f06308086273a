package object_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

func TestParseOID(t *testing.T) {
	t.Parallel()
	want := object.Hash([]byte("hello"))
	got, err := object.ParseOID(want.String())
	if err != nil || got != want {
		t.Errorf("ParseOID(%s) = %v, %v", want, got, err)
	}
	for name, text := range map[string]string{
		"nothing":    "",
		"short":      want.String()[1:],
		"long":       want.String() + "0",
		"upper case": strings.ToUpper(want.String()),
		"not hex":    "g" + want.String()[1:],
		"prefixed":   "0x" + want.String()[2:],
		"zeros":      strings.Repeat("0", 64),
	} {
		if got, err := object.ParseOID(text); !errors.Is(err, object.ErrBadOID) || !got.IsZero() {
			t.Errorf("%s: ParseOID(%q) = %v, %v; want ErrBadOID", name, text, got, err)
		}
	}
}

// The zero OID is absence in every form.
func TestOIDForms(t *testing.T) {
	t.Parallel()
	some, err := object.ParseOID("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		oid               object.OID
		text, short, json string
	}{
		{some, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "2cf24dba5f", `"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"`},
		{object.OID{}, "", "(none)", `null`},
	} {
		if got := test.oid.String(); got != test.text {
			t.Errorf("String = %q, want %q", got, test.text)
		}
		if got := test.oid.Short(); got != test.short {
			t.Errorf("Short = %q, want %q", got, test.short)
		}
		text, err := test.oid.MarshalText()
		var fromText object.OID
		if err != nil || string(text) != test.text || fromText.UnmarshalText(text) != nil || fromText != test.oid {
			t.Errorf("text form %q, %v, read back as %v", text, err, fromText)
		}
		data, err := json.Marshal(test.oid)
		fromJSON := some
		if err != nil || string(data) != test.json || json.Unmarshal(data, &fromJSON) != nil || fromJSON != test.oid {
			t.Errorf("JSON form %s, %v, read back as %v", data, err, fromJSON)
		}
	}
	for _, bad := range []string{`""`, `"ab"`, `1`, `true`, `[]`, `{}`} {
		if err := json.Unmarshal([]byte(bad), new(object.OID)); err == nil {
			t.Errorf("%s is read as an oid", bad)
		}
	}
}

func TestOIDCompare(t *testing.T) {
	t.Parallel()
	var low, high object.OID
	low[31], high[0] = 255, 1
	same := low
	if low.Compare(high) != -1 || high.Compare(low) != 1 || low.Compare(same) != 0 {
		t.Error("oids are not ordered by their bytes")
	}
	if (low.String() < high.String()) != (low.Compare(high) < 0) {
		t.Error("the order differs from that of the text form")
	}
}
