package tool_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/tool"
)

const formSchema = `{
  "$schema": "https://json-schema.org/draft/2019-09/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["title"],
  "properties": {
    "title": {"type": "string", "minLength": 1, "maxLength": 5},
    "count": {"type": "integer", "minimum": 1, "maximum": 9},
    "word": {"minLength": 3},
    "five": {"enum": ["5", null]},
    "one": {"const": 1},
    "tree": {"$ref": "#/$defs/node"},
    "a b/c~d": {"type": "boolean"},
    "größe": {"type": "number", "exclusiveMinimum": 0},
    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#tag"}], "items": {"type": "null"}},
    "both": {"allOf": [{"type": "object"}, {"properties": {"x": {"type": "string"}}}]},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "same": {"$ref": "#/properties/count"}
  },
  "$defs": {
    "tag": {"$anchor": "tag", "type": "string"},
    "node": {
      "type": "object",
      "required": ["id"],
      "properties": {"id": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}
    }
  }
}`

func TestCheckArguments(t *testing.T) {
	set := mustSet(t, newTool("form", formSchema))
	for _, tc := range []struct{ name, args, want string }{
		{"all is well", `{"title":"hello","count":9,"tree":{"id":"a","kids":[{"id":"b","kids":[]}]},"either":3,"pair":["a","b",null]}`, ""},
		{"unicode counts as code points", `{"title":"日本語🙂é"}`, ""},
		{"NUL is a character", `{"title":"\u0000"}`, ""},
		{"a whole float is an integer", `{"title":"a","count":2.0}`, ""},
		{"null is in the enum", `{"title":"a","five":null}`, ""},
		{"minLength is not for numbers", `{"title":"a","word":7}`, ""},
		{"one is 1.0", `{"title":"a","one":1.0}`, ""},
		{"missing", `{}`, `arguments: required: missing properties: ["title"]`},
		{"empty", ``, `arguments: are empty; send a JSON object`},
		{"cut", `{"title":"a`, `arguments: is cut short`},
		{"garbage", `{"title":nope}`, `arguments: is not JSON: `},
		{"array", `[]`, `arguments: type: [] has type "array", want "object"`},
		{"trailing", `{"title":"a"}{}`, `arguments: has something after the value`},
		{"duplicate", `{"title":"a","title":"b"}`, `duplicate object member name "title"`},
		{"half a surrogate pair", `{"title":"\ud83d"}`, `arguments: is not JSON: `},
		{"invalid UTF-8", "{\"title\":\"\xed\xa0\x80\"}", `arguments: is not JSON: `},
		{"too long", `{"title":"日本語🙂éx"}`, `arguments.title: maxLength: "日本語🙂éx" contains 6 Unicode code points, more than 5`},
		{"extra", `{"title":"a","tittle":"b"}`, `arguments: unexpected additional properties ["tittle"]`},
		{"number below", `{"title":"a","count":0}`, `arguments.count: minimum: 0 is less than 1.000000`},
		{"number for a string in an enum", `{"title":"a","five":5}`, `arguments.five: enum: 5 does not equal any of`},
		{
			"recursive", `{"title":"a","tree":{"id":"a","kids":[{"id":"b"},{"id":"c","kids":[{"id":1}]}]}}`,
			`arguments.tree.kids[1].kids[0].id: type: 1 has type "integer", want "string"`,
		},
		{"odd name", `{"title":"a","a b/c~d":1}`, `arguments["a b/c~d"]: type: 1 has type "integer", want "boolean"`},
		{"unicode name", `{"title":"a","größe":0}`, `arguments["größe"]: exclusiveMinimum: 0 is less`},
		{"alternatives", `{"title":"a","either":[]}`, `arguments.either: anyOf: matches none of the allowed forms`},
		{"tuple", `{"title":"a","pair":["a",2]}`, `arguments.pair[1]: type: 2 has type "integer", want "string"`},
		{"rest of a tuple", `{"title":"a","pair":["a","b",3]}`, `arguments.pair[2]: type: 3`},
		{"through allOf", `{"title":"a","both":{"x":1}}`, `arguments.both.x: type: 1`},
		{"in a map", `{"title":"a","map":{"ok":1,"":"b"}}`, `arguments.map[""]: type: b has type "string", want "integer"`},
		{"through a pointer", `{"title":"a","same":10}`, `arguments.same: maximum: 10 is greater than 9.000000`},
		{"huge value", `{"title":["` + strings.Repeat("é", 5000) + `"]}`, `arguments.title: type: [éé`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := set.CheckArguments("form", jsontext.Value(tc.args))
			switch {
			case tc.want == "" && err != nil:
				t.Fatalf("got %v, want nil", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("got %v\nwant %s", err, tc.want)
			case err != nil && len(err.Error()) > 400:
				t.Fatalf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestCheckArguments_draft7(t *testing.T) {
	set := mustSet(t, newTool("old", `{
	  "$schema":"http://json-schema.org/draft-07/schema","type":"object",
	  "definitions":{"n":{"type":"integer"}},
	  "properties":{"list":{"type":"array","items":{"$ref":"#/definitions/n"}}}}`))
	if err := set.CheckArguments("old", jsontext.Value(`{"list":[1,2]}`)); err != nil {
		t.Fatal(err)
	}
	err := set.CheckArguments("old", jsontext.Value(`{"list":[1,"2"]}`))
	if err == nil || !strings.HasPrefix(err.Error(), "arguments.list[1]: type:") {
		t.Fatalf("got %v", err)
	}
}

// TestB65_Numbers proves that checking neither rounds nor overflows, and that it leaves the bytes alone.
func TestB65_Numbers(t *testing.T) {
	set := mustSet(t, newTool("x", `{"type":"object","properties":{
	  "id":{"type":"integer"},"below":{"type":"integer","maximum":9007199254740992},"n":{"type":"number"}}}`))
	for _, tc := range []struct {
		args string
		ok   bool
	}{
		{`{"id":9007199254740993}`, true},
		{`{"id":18446744073709551615}`, true},
		{`{"id":1234567890123456789012345678901234567890}`, true},
		{`{"below":9007199254740992}`, true},
		{`{"below":9007199254740993}`, false},
		{`{"n":-0}`, true},
		{`{"n":1E+2}`, true},
		{`{"n":0.1}`, true},
		{`{"id":0.5}`, false},
		{`{"n":1e400}`, false},
		{`{"n":-1e999999999}`, false},
	} {
		args := jsontext.Value(tc.args)
		if err := set.CheckArguments("x", args); (err == nil) != tc.ok {
			t.Errorf("%s: got %v, want ok=%v", tc.args, err, tc.ok)
		}
		if string(args) != tc.args {
			t.Errorf("checking changed %s to %s", tc.args, args)
		}
	}
}

// TestB69_DeepArguments proves that depth is an answer and never a crash, whether the schema looks inside or not.
func TestB69_DeepArguments(t *testing.T) {
	set := mustSet(t,
		newTool("free", anyObject),
		newTool("tree", `{"type":"object","additionalProperties":{"$ref":"#"}}`),
		newTool("list", `{"type":"object","properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`))
	objects := func(n int, leaf string) string {
		return strings.Repeat(`{"a":`, n) + leaf + strings.Repeat(`}`, n)
	}
	arrays := func(n int, leaf string) string {
		return `{"a":` + strings.Repeat(`[`, n-1) + leaf + strings.Repeat(`]`, n-1) + `}`
	}
	const tooDeep = "nests deeper than 128 levels"
	for _, tc := range []struct {
		name, tool, args, want string
	}{
		{"10 objects", "free", objects(10, "1"), ""},
		{"10 objects, checked", "tree", objects(10, "{}"), ""},
		{"10 objects, wrong at the end", "tree", objects(10, "1"), "arguments.a.a.a.a.a.a.a.a.a.a: type: 1"},
		{"128 objects", "tree", objects(127, "{}"), ""},
		{"128 objects, wrong at the end", "tree", objects(128, "1"), "type: 1"},
		{"128 arrays, wrong at the end", "list", arrays(128, "1"), "type: 1"},
		{"129 objects", "tree", objects(128, "{}"), tooDeep},
		{"1000 objects", "free", objects(1000, "1"), tooDeep},
		{"1000 arrays", "list", arrays(1000, "1"), tooDeep},
		{"10001 objects", "tree", objects(10_001, "1"), tooDeep},
		{"200000 arrays", "free", arrays(200_000, "1"), tooDeep},
		{"1 MB of [", "free", strings.Repeat("[", 1<<20), tooDeep},
		{"deep and cut", "free", strings.Repeat(`{"a":`, 20_000), tooDeep},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := set.CheckArguments(tc.tool, jsontext.Value(tc.args))
			switch {
			case tc.want == "" && err != nil:
				t.Fatalf("got %v, want nil", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("got %v, want one with %q", err, tc.want)
			}
		})
	}
}

func FuzzCheckArguments(f *testing.F) {
	set, err := tool.NewSet(newTool("form", formSchema))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"title":"a"}`, `{"tree":{"id":1}}`, `[[[`, `{"n":1e400}`, `{"pair":[1]}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		before := string(args)
		first := set.CheckArguments("form", args)
		if string(args) != before {
			t.Fatal("checking changed the arguments")
		}
		if second := set.CheckArguments("form", args); (first == nil) != (second == nil) {
			t.Fatalf("checked twice: %v, then %v", first, second)
		}
	})
}

func BenchmarkNewSet(b *testing.B) {
	for b.Loop() {
		if _, err := tool.NewSet(newTool("form", formSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefuse is the dearest refusal that arguments can cause: as deep as allowed, wrong at the very end.
func BenchmarkRefuse(b *testing.B) {
	set, err := tool.NewSet(newTool("tree", `{"type":"object","additionalProperties":{"$ref":"#"}}`))
	if err != nil {
		b.Fatal(err)
	}
	args := jsontext.Value(strings.Repeat(`{"a":`, tool.MaxDepth) + "1" + strings.Repeat("}", tool.MaxDepth))
	for b.Loop() {
		if set.CheckArguments("tree", args) == nil {
			b.Fatal("accepted")
		}
	}
}
