package object_test

import (
	"errors"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/gowebpki/jcs"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

type vectors struct {
	Canonical []struct{ Name, Input, Canonical string } `json:"canonical"`
	Numbers   []struct {
		IEEE754   string `json:"ieee754"`
		Canonical string `json:"canonical"`
	} `json:"numbers"`
	Refused []struct{ Name, Input, Path, Reason string } `json:"refused"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/jcs/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	return v
}

// Conformance 1 to 4: the vectors, held against an independent implementation too.
func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Canonical {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			enc := encode(t, object.Blob{Value: []byte(v.Input)})
			if got, want := string(enc.Body), `{"kind":"blob","value":`+v.Canonical+`}`; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if v.Canonical[0] != '{' && v.Canonical[0] != '[' {
				return // the oracle reads only documents
			}
			oracle, err := jcs.Transform([]byte(v.Input))
			if err != nil {
				t.Fatal(err)
			}
			if string(oracle) != v.Canonical {
				t.Errorf("the oracle disagrees: %s", oracle)
			}
		})
	}
}

func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Numbers {
		bits, err := strconv.ParseUint(v.IEEE754, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		f := math.Float64frombits(bits)
		for _, input := range []string{strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'f', -1, 64), v.Canonical} {
			enc := encode(t, object.Blob{Value: []byte(input)})
			if got, want := string(enc.Body), `{"kind":"blob","value":`+v.Canonical+`}`; got != want {
				t.Errorf("%s: got %s, want %s", v.IEEE754, got, want)
			}
		}
		if oracle, err := jcs.NumberToJSON(f); err != nil || oracle != v.Canonical {
			t.Errorf("%s: the oracle says %s, %v", v.IEEE754, oracle, err)
		}
	}
}

// What two readers could take for different values is refused, and the error says where it is.
func TestRefusedVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Refused {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			refused(t, object.Blob{Value: []byte(v.Input)}, v.Reason)
			_, err := object.Encode(object.Blob{Value: []byte(v.Input)})
			if dotted := "$.value" + v.Path[1:] + ": "; !strings.Contains(err.Error(), dotted) {
				// What the JSON writer itself refuses it names by pointer.
				pointer := strings.NewReplacer("$", `"/value`, ".", "/", "[", "/", "]", "").Replace(v.Path) + `"`
				if !strings.Contains(err.Error(), pointer) {
					t.Errorf("Encode: %v names neither %s nor %s", err, dotted, pointer)
				}
			}
			if err := object.CheckJSON([]byte(v.Input)); err == nil || !strings.Contains(err.Error(), v.Path+": ") {
				t.Errorf("CheckJSON: %v does not name %s", err, v.Path)
			}
		})
	}
}

// Conformance 5 and 6.
func TestOIDFollowsContent(t *testing.T) {
	t.Parallel()
	blob := func(value string) object.OID { return encode(t, object.Blob{Value: []byte(value)}).OID }
	if a, b := blob(`{"a":1,"b":{"c":[1,2],"d":null}}`), blob(` {"b":{"d":null,"c":[1.0,2]},"a":1e0} `); a != b {
		t.Errorf("equal content has the oids %s and %s", a, b)
	}
	seen := map[object.OID]string{}
	for _, value := range []string{`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"a":1,"b":null}`, `{"A":1}`, `[{"a":1}]`, `{}`, `[]`, `null`, `""`, `0`, `false`, `[1,2]`, `[2,1]`} {
		oid := blob(value)
		if other, ok := seen[oid]; ok {
			t.Errorf("%s and %s have one oid", value, other)
		}
		seen[oid] = value
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(oid.String()) {
			t.Errorf("oid %q is not 64 lower-case hexadecimal digits", oid)
		}
	}
}

// Conformance 7: what is encoded no longer depends on the caller's memory.
func TestEncodeCopies(t *testing.T) {
	t.Parallel()
	value := []byte(`{"a":[1,true,null]}`)
	enc := encode(t, object.Blob{Value: value})
	value[6] = '9'
	if got := object.Hash(enc.Body); got != enc.OID {
		t.Errorf("the bytes changed under their oid: %s", enc.Body)
	}
}

// Conformance 8 and 45: a value that JSON cannot hold is refused whole, wherever it sits, and the path is named.
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	commit := func(m message.Message) object.Object { return object.Commit{Body: object.MessageBody{Message: m}} }
	assistant := func(cost float64) object.Object {
		return commit(message.Assistant{StopReason: message.StopEnd, Usage: message.Usage{Cost: message.Cost{Total: cost}}})
	}
	deep := strings.Repeat(`[`, 1001) + strings.Repeat(`]`, 1001)
	for _, test := range []struct {
		name   string
		object object.Object
		wants  []string
	}{
		{"nothing", nil, []string{"no object"}},
		{"NaN", assistant(math.NaN()), []string{"/body/message/usage/cost/total", "NaN"}},
		{"infinity", assistant(math.Inf(1)), []string{"/body/message/usage/cost/total", "Inf"}},
		{"time beyond 2^53", object.Commit{At: 1<<53 + 1, Body: object.SummaryBody{}}, []string{"$.at", "does not survive"}},
		{"invalid UTF-8 in text", commit(message.NewUser("a\xff", 1)), []string{"/body/message/content/0/text", "UTF-8"}},
		{"surrogate bytes in text", commit(message.NewUser("\xed\xa0\x80", 1)), []string{"/body/message/content/0/text", "UTF-8"}},
		{"invalid UTF-8 in raw JSON", object.Blob{Value: []byte("{\"a\":\"\xff\"}")}, []string{"/value/a", "UTF-8"}},
		{"2^53+1 in arguments", object.Intent{RunID: "r", Tool: "t", Replay: object.ReplaySafe, Args: []byte(`{"id":9007199254740993}`)}, []string{"$.args.id", "does not survive"}},
		{"duplicate name in a signal", object.Signal{
			Intent: object.Hash(nil), Waiting: object.Hash(nil), Signal: []byte(`{"a":1,"a":1}`),
		}, []string{"$.signal.a", "twice"}},
		{"1001 levels", object.Blob{Value: []byte(deep)}, []string{"$.value[0]", "nested more than 1000 levels"}},
		{"not JSON", object.Blob{Value: []byte(`{`)}, []string{"/value", "EOF"}},
		{"two values", object.Blob{Value: []byte(`1 2`)}, []string{"/value", "after top-level value"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			refused(t, test.object, test.wants...)
		})
	}
}

// Field report B65: no number in a call's arguments is rounded in silence.
func TestB65_NumbersAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	call := func(args string) object.Object {
		return object.Commit{Body: object.MessageBody{Message: message.Assistant{
			StopReason: message.StopToolUse, Content: []message.Part{message.ToolCall{ID: "1", Name: "t", Arguments: []byte(args)}},
		}}}
	}
	for args, want := range map[string]string{
		`{"id":9007199254740992}`: `{"id":9007199254740992}`,
		`{"id":-0}`:               `{"id":0}`,
		`{"id":1E+2}`:             `{"id":100}`,
		`{"id":0.1}`:              `{"id":0.1}`,
	} {
		if body := string(encode(t, call(args)).Body); !strings.Contains(body, `"arguments":`+want) {
			t.Errorf("%s is not kept as %s: %s", args, want, body)
		}
	}
	for _, args := range []string{`{"id":9007199254740993}`, `{"id":1e400}`, `{"id":1234567890123456789012345678901234567890}`} {
		refused(t, call(args), "$.body.message.content[0].arguments.id", "number")
	}
}

// Field report B64: NUL is a character of text, also in arguments and their names.
func TestB64_NULInContent(t *testing.T) {
	t.Parallel()
	o := object.Commit{Body: object.MessageBody{Message: message.Assistant{
		StopReason: message.StopToolUse,
		Content: []message.Part{
			message.Text{Text: "a\x00b"}, message.ToolCall{ID: "\x00", Name: "t", Arguments: []byte(`{"\u0000":"\u0000"}`)},
		},
	}}}
	enc := encode(t, o)
	if strings.ContainsRune(string(enc.Body), 0) {
		t.Errorf("a raw NUL in %q", enc.Body)
	}
	got, err := object.Decode(enc.OID, enc.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.(object.Commit).Body.(object.MessageBody).Message.(message.Assistant).Content[0]; text != (message.Text{Text: "a\x00b"}) {
		t.Errorf("read back as %q", text)
	}
}

// Field report B69: depth has a limit at the boundary, well before any walker's.
func TestB69_DeepObjects(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) }
	for _, n := range []int{1, 10, object.MaxDepth - 1} {
		enc := encode(t, object.Blob{Value: nested(n)})
		if _, err := object.Decode(enc.OID, enc.Body); err != nil {
			t.Errorf("%d levels are written and not read: %.200s", n, err)
		}
	}
	for _, n := range []int{object.MaxDepth, 9_999, 10_001, 200_000} {
		if _, err := object.Encode(object.Blob{Value: nested(n)}); !errors.Is(err, object.ErrInvalid) {
			t.Errorf("%d levels: %v", n, err)
		}
		body := append(append([]byte(`{"kind":"blob","value":`), nested(n)...), '}')
		if _, err := object.Decode(object.Hash(body), body); !errors.Is(err, object.ErrCorrupt) {
			t.Errorf("%d levels are read: %v", n, err)
		}
	}
}

// refused checks that o cannot be encoded and that the error contains wants.
func refused(t *testing.T, o object.Object, wants ...string) {
	t.Helper()
	enc, err := object.Encode(o)
	if !errors.Is(err, object.ErrInvalid) {
		t.Errorf("error %v is not ErrInvalid", err)
		return
	}
	if !enc.OID.IsZero() || enc.Body != nil {
		t.Errorf("a refused object has the oid %s", enc.OID)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %.300q does not contain %q", err, want)
		}
	}
}
