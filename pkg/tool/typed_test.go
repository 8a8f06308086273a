package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

type order struct {
	ID    uint64         `json:"id" jsonschema:"the order's number"`
	Names []string       `json:"names,omitzero"`
	Extra jsontext.Value `json:"extra,omitzero"`
	Inner struct {
		Größe int8 `json:"größe"`
	} `json:"inner,omitzero"`
	Raw []byte `json:"raw,omitzero"`
}

func orderTool(t *testing.T, got *order) tool.Tool {
	t.Helper()
	x, err := tool.Typed("order", "Orders.", tool.ReplaySafe,
		func(_ context.Context, call tool.Call, in order) (tool.Outcome, error) {
			*got = in
			return tool.Text(string(call.Arguments)), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func text(t *testing.T, out tool.Outcome) (string, bool) {
	t.Helper()
	done, ok := out.(tool.Done)
	if !ok {
		t.Fatalf("the outcome is %T, want Done", out)
	}
	return message.PlainText(done.Content), done.IsError
}

func TestTyped_schema(t *testing.T) {
	var in order
	got := orderTool(t, &in).Parameters
	want := jsontext.Value(`{"type":"object","required":["id"],"additionalProperties":false,"properties":{
	  "id":{"type":"integer","description":"the order's number","minimum":0},
	  "names":{"type":"array","items":{"type":"string"}},
	  "extra":{"description":"any JSON value"},
	  "inner":{"type":"object","properties":{"größe":{"type":"integer","minimum":-128,"maximum":127}},
	           "required":["größe"],"additionalProperties":false},
	  "raw":{"type":"string","contentEncoding":"base64"}}}`)
	if err := want.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	canonical := got.Clone()
	if err := canonical.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(canonical)); diff != "" {
		t.Fatalf("parameters (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(got), `{"type":"object","properties":{"id":`) {
		t.Errorf("the fields have lost their order: %s", got)
	}
}

// TestB65_BytesReachTheTool proves that a tool sees the model's own bytes, and exact integers when it decodes them.
func TestB65_BytesReachTheTool(t *testing.T) {
	var in order
	x := orderTool(t, &in)
	set := mustSet(t, x)
	args := jsontext.Value(`{ "id" : 9007199254740993, "extra": [1E+2, -0, 12345678901234567890123, "\u00e9"] }`)
	if err := set.CheckArguments("order", args); err != nil {
		t.Fatal(err)
	}
	out, err := x.Execute(t.Context(), tool.Call{Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	if got, isError := text(t, out); got != string(args) || isError {
		t.Errorf("the tool saw %s (error %v)", got, isError)
	}
	if in.ID != 9007199254740993 {
		t.Errorf("id is %d", in.ID)
	}
	if got, want := string(in.Extra), `[1E+2, -0, 12345678901234567890123, "\u00e9"]`; got != want {
		t.Errorf("extra is %s, want %s", got, want)
	}
}

func TestTyped_decodesStrictly(t *testing.T) {
	var in order
	x := orderTool(t, &in)
	for _, tc := range []struct{ args, want string }{
		{`{"id":1,"ID":2}`, `arguments.ID: is not known`},
		{`{"id":1,"inner":{"größe":1,"z":0}}`, `arguments.inner.z: is not known`},
		{`{"id":1,"id":2}`, `duplicate object member name "id"`},
		{`{"id":18446744073709551616}`, `arguments.id: 18446744073709551616 does not fit uint64`},
		{`{"id":1.5}`, `arguments.id: 1.5 does not fit uint64`},
		{`{"id":1,"inner":{"größe":128}}`, `arguments.inner["größe"]: 128 does not fit int8`},
		{`{"id":1,"names":["a",2]}`, `arguments.names[1]: a number does not fit string`},
		{`{"id":1`, `arguments: is cut short`},
		{``, `arguments: is cut short`},
		{`{"id":` + strings.Repeat("[", 10_001), `arguments`},
	} {
		out, err := x.Execute(t.Context(), tool.Call{Arguments: jsontext.Value(tc.args)})
		if err != nil {
			t.Errorf("%.80s: error %v, want an error result", tc.args, err)
			continue
		}
		if got, isError := text(t, out); !isError || !strings.Contains(got, tc.want) {
			t.Errorf("%.80s: got %q (error %v), want %q", tc.args, got, isError, tc.want)
		}
	}
}

func TestTyped_refusesTypesWithoutSchema(t *testing.T) {
	type cycle struct{ Next *cycle }
	for name, err := range map[string]error{
		"not a struct": typedError[[]string](),
		"channel":      typedError[struct{ C chan int }](),
		"cycle":        typedError[cycle](),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), `tool "x": `) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := tool.Typed[order]("x", "", "", nil); err == nil || !strings.Contains(err.Error(), "the function is nil") {
		t.Errorf("a nil function: got %v", err)
	}
}

func typedError[In any]() error {
	_, err := tool.Typed("x", "", "", func(context.Context, tool.Call, In) (tool.Outcome, error) { return tool.Text(""), nil })
	return err
}
