package ijson_test

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/ijson"
)

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, `"x"`, ` {"a" : 1} `,
		`0`, `-0`, `-0.0`, `0e999999999999999999999`, `0.1`, `1E+2`, `1e21`, `100000000000000000000000`,
		`9007199254740992`, `-9007199254740991`, `1.7976931348623157e308`, `5e-324`, `0.10`, `1.0e0`,
		`"é\u0000\ud83d\ude00"`, `{"a":{"a":1}}`, `[[[1]]]`,
	} {
		if err := ijson.Check(jsontext.Value(text), 1000); err != nil {
			t.Errorf("Check(%s) = %v, want nil", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, path, reason string }{
		{"nothing", ``, "$", "no JSON value"},
		{"blank", ` `, "$", "no JSON value"},
		{"cut object", `{"a":`, "$.a", "cut short"},
		{"cut string", `{"a":"x`, "$.a", "cut short"},
		{"two values", `{} {}`, "$", "more text follows"},
		{"trailing comma", `[1,]`, "$", "invalid character"},
		{"duplicate name", `{"a":{"b":1,"b":2}}`, "$.a.b", "appears twice"},
		{"duplicate name by escape", `{"a":1,"\u0061":2}`, "$.a", "appears twice"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "$.a", "UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", "$", "UTF-8"},
		{"lone surrogate", `["\ud800"]`, "$[0]", "surrogate"},
		{"2^53+1", `{"a":[0,1,2,9007199254740993]}`, "$.a[3]", "becomes 9.007199254740992e+15"},
		{"overflow", `[1e400]`, "$[0]", "too large"},
		{"negative overflow", `-1e400`, "$", "too large"},
		{"enormous exponent", `1e99999999999999999999999`, "$", "too large"},
		{"underflow", `[1e-400]`, "$[0]", "too small"},
		{"enormous negative exponent", `1e-99999999999999999999999`, "$", "too small"},
		{"40 digits", `1234567890123456789012345678901234567890`, "$", "does not survive"},
		{"too precise fraction", `0.10000000000000001`, "$", "does not survive"},
		{"name made of digits", `{"3":[{"a b":1e400}]}`, `$["3"][0]["a b"]`, "too large"},
		{"NaN", `NaN`, "$", "invalid character"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := ijson.Check(jsontext.Value(test.text), 1000)
			got, ok := errors.AsType[*ijson.Error](err)
			if !ok {
				t.Fatalf("Check(%s) = %v, want an *Error", test.text, err)
			}
			if diff := cmp.Diff(test.path, got.Path); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Reason, test.reason) {
				t.Errorf("reason %q does not contain %q", got.Reason, test.reason)
			}
		})
	}
}

// Field report B69: deep nesting is refused without a call stack per level.
func TestB69_Depth(t *testing.T) {
	t.Parallel()
	nested := func(n int) jsontext.Value {
		return jsontext.Value(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	for _, n := range []int{1, 10, 1000} {
		if err := ijson.Check(nested(n), 1000); err != nil {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	hostile := map[string]jsontext.Value{
		"1001 levels":    nested(1001),
		"9999 levels":    nested(9999),
		"10001 levels":   nested(10_001),
		"200000 levels":  nested(200_000),
		"1 MB of [":      jsontext.Value(strings.Repeat("[", 1<<20)),
		"objects":        jsontext.Value(strings.Repeat(`{"a":`, 5000)),
		"after siblings": jsontext.Value(`{"x":[],"y":` + strings.Repeat("[", 1001)),
	}
	for name, v := range hostile {
		err := ijson.Check(v, 1000)
		if err == nil || !strings.Contains(err.Error(), "nested more than 1000 levels") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
	if err := ijson.Check(nested(ijson.MaxDepth+1), 1<<30); err == nil {
		t.Error("more than MaxDepth levels pass")
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, v := range map[string]jsontext.Value{
		"brackets": jsontext.Value(strings.Repeat("[", 1<<20)),
		"numbers":  jsontext.Value("[1" + strings.Repeat(",0.1", 1<<18) + "]"),
		"digits":   jsontext.Value(strings.Repeat("9", 1<<20)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(v)))
			for b.Loop() {
				_ = ijson.Check(v, 1000)
			}
		})
	}
}

// What passes is one valid JSON value whose numbers, written in shortest form, have the value that was written.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,-0,1e21]}`, `9007199254740993`, `1e400`, `"\ud800"`, `[[[[`, `{"a":1,"a":2}`, "\xff", `0.1e-5`, `1 2`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := jsontext.Value(text)
		if err := ijson.Check(v, 20); err != nil {
			if got, ok := errors.AsType[*ijson.Error](err); !ok || !strings.HasPrefix(got.Path, "$") || got.Reason == "" {
				t.Fatalf("Check(%q) = %v", text, err)
			}
			return
		}
		if !v.IsValid() {
			t.Fatalf("Check passes invalid JSON %q", text)
		}
		number, isNumber := new(big.Rat).SetString(strings.TrimSpace(text))
		if !isNumber || len(text) > 50 || v.Kind() != '0' {
			return
		}
		double, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			t.Fatalf("Check passes %q: %v", text, err)
		}
		shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(double, 'e', -1, 64))
		if number.Cmp(shortest) != 0 {
			t.Fatalf("Check passes %q, which a double keeps as %v", text, double)
		}
	})
}
