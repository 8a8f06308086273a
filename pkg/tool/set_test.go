package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/tool"
)

func done(context.Context, tool.Call) (tool.Outcome, error) { return tool.Text("ok"), nil }

func newTool(name, params string) tool.Tool {
	return tool.Tool{Name: name, Parameters: jsontext.Value(params), Execute: done}
}

func mustSet(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const anyObject = `{"type":"object"}`

func TestNewSet_refusesBadTools(t *testing.T) {
	deep := func(n int) string {
		return `{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, n) + `{}` + strings.Repeat(`}}`, n) + `}`
	}
	for _, tc := range []struct {
		name string
		tool tool.Tool
		want string
	}{
		{"empty name", newTool("", anyObject), `tool "": the name must be`},
		{"space in name", newTool("a b", anyObject), `tool "a b": the name must be`},
		{"unicode name", newTool("größe", anyObject), `tool "größe": the name must be`},
		{"NUL in name", newTool("a\x00", anyObject), "the name must be"},
		{"long name", newTool(strings.Repeat("x", 65), anyObject), "the name must be"},
		{"nil execute", tool.Tool{Name: "x", Parameters: jsontext.Value(anyObject)}, `tool "x": execute is nil`},
		{"unknown replay", tool.Tool{Name: "x", Parameters: jsontext.Value(anyObject), Execute: done, Replay: "once"}, `tool "x": replay "once"`},
		{"no schema", newTool("x", ""), `tool "x": parameters: the schema is missing`},
		{"cut schema", newTool("x", `{"type":`), `tool "x": parameters: the schema is cut short`},
		{"not JSON", newTool("x", `{type}`), `the schema is not JSON`},
		{"two values", newTool("x", `{"type":"object"} {}`), "after the value"},
		{"not an object", newTool("x", `[]`), `whose "type" is "object"`},
		{"type is array", newTool("x", `{"type":"array"}`), `whose "type" is "object"`},
		{"bad keyword", newTool("x", `{"type":"object","required":"a"}`), "reading the schema"},
		{"unknown type", newTool("x", `{"type":"object","properties":{"a":{"type":"objekt"}}}`), "the schema at \"/properties/a\""},
		{"bad pattern", newTool("x", `{"type":"object","properties":{"a":{"pattern":"("}}}`), "resolving the schema"},
		{"null subschema", newTool("x", `{"type":"object","properties":{"a":null}}`), `"/properties/a" is null`},
		{"remote reference", newTool("x", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}`), "leaves the schema"},
		{"dangling reference", newTool("x", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`), "finds nothing"},
		{"endless reference", newTool("x", `{"type":"object","$ref":"#"}`), "applies itself"},
		{"endless detour", newTool("x", `{"type":"object","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`), "applies itself"},
		{"dynamic reference", newTool("x", `{"type":"object","properties":{"a":{"$dynamicRef":"#b"}}}`), "$dynamicRef"},
		{"nested id", newTool("x", `{"type":"object","properties":{"a":{"$id":"urn:b"}}}`), "only the root may"},
		{"rounded enum", newTool("x", `{"type":"object","properties":{"a":{"enum":[9007199254740993]}}}`), "9007199254740993"},
		{"B69 deep schema", newTool("x", deep(1000)), "nests deeper than 128 levels"},
		{"B69 deeper schema", newTool("x", deep(100_000)), "nests deeper than 128 levels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tool.NewSet(newTool("fine", anyObject), tc.tool)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("NewSet: got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestSet_keepsOrderAndNames(t *testing.T) {
	set := mustSet(t, newTool("b", anyObject), newTool("a", anyObject))
	more, err := set.With(tool.Tool{Name: "c", Parameters: jsontext.Value(anyObject), Execute: done, Replay: tool.ReplaySafe})
	if err != nil {
		t.Fatal(err)
	}
	names := func(s *tool.Set) (names []string) {
		for _, x := range s.All() {
			names = append(names, x.Name+":"+string(x.Replay))
		}
		return names
	}
	if diff := cmp.Diff([]string{"b:never", "a:never"}, names(set)); diff != "" {
		t.Errorf("the first set (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b:never", "a:never", "c:safe"}, names(more)); diff != "" {
		t.Errorf("the longer set (-want +got):\n%s", diff)
	}
	if _, ok := set.Lookup("c"); ok {
		t.Error("With changed the set it was called on")
	}
	if x, ok := more.Lookup("a"); !ok || x.Name != "a" {
		t.Errorf("Lookup(a) = %v, %v", x.Name, ok)
	}
	if _, err := more.With(newTool("a", anyObject)); err == nil || !strings.Contains(err.Error(), `tool "a": the name is used twice`) {
		t.Errorf("a repeated name: got %v", err)
	}
	if err := more.CheckArguments("nope", jsontext.Value(`{}`)); err == nil ||
		err.Error() != `tool "nope" is not known; the tools are: b, a, c` {
		t.Errorf("an unknown name: got %v", err)
	}
}

func TestReplay_zeroIsNever(t *testing.T) {
	set := mustSet(t, newTool("x", anyObject))
	if x, _ := set.Lookup("x"); x.Replay != tool.ReplayNever {
		t.Fatalf("replay is %q, want never", x.Replay)
	}
}

func ExampleSet_CheckArguments() {
	set, err := tool.NewSet(tool.Tool{
		Name:       "move",
		Parameters: jsontext.Value(`{"type":"object","properties":{"steps":{"type":"array","items":{"type":"integer"}}}}`),
		Execute:    done,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(set.CheckArguments("move", jsontext.Value(`{"steps":[1,"two"]}`)))
	// Output: arguments.steps[1]: type: two has type "string", want "integer"
}
