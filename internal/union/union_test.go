package union_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/union"
)

type shape interface{ shape() }

type (
	circle struct {
		Radius int `json:"radius"`
	}
	group struct {
		Members []shape `json:"members"`
		First   circle  `json:"first"`
	}
	empty struct{}
)

func (circle) shape() {}
func (group) shape()  {}
func (empty) shape()  {}

func nameOf(s shape) string {
	switch s.(type) {
	case circle:
		return "circle"
	case group:
		return "group"
	case empty:
		return "empty"
	}
	panic("unreachable")
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		codec *union.Codec[shape]
		want  string
	}{
		"kind":  {union.New("kind", nameOf, union.Kind[shape, circle]("circle")), `{"kind":"circle","radius":2}`},
		"role":  {union.New("role", nameOf, union.Role[shape, circle]("circle")), `{"role":"circle","radius":2}`},
		"type":  {union.New("type", nameOf, union.Type[shape, circle]("circle")), `{"type":"circle","radius":2}`},
		"state": {union.New("state", nameOf, union.State[shape, circle]("circle")), `{"state":"circle","radius":2}`},
		"kind and state": {
			union.New("state", nameOf, union.KindState[shape, circle]("figure", "circle")),
			`{"kind":"figure","state":"circle","radius":2}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.codec.Len() != 1 {
				t.Errorf("Len = %d", test.codec.Len())
			}
			got, err := json.Marshal(shape(circle{2}), json.WithMarshalers(test.codec.Marshalers()))
			if err != nil || string(got) != test.want {
				t.Fatalf("Marshal = %s, %v; want %s", got, err, test.want)
			}
			var back shape
			if err := json.Unmarshal(got, &back, json.WithUnmarshalers(test.codec.Unmarshalers())); err != nil || back != shape(circle{2}) {
				t.Errorf("Unmarshal = %#v, %v", back, err)
			}
			// A place for one variant, not for the union, carries the tag and checks it.
			var alone circle
			if err := json.Unmarshal(got, &alone, json.WithUnmarshalers(test.codec.Unmarshalers())); err != nil || alone != (circle{2}) {
				t.Errorf("Unmarshal into the variant = %#v, %v", alone, err)
			}
		})
	}
}

func codec() *union.Codec[shape] {
	return union.New("kind", nameOf, union.Kind[shape, circle]("circle"), union.Kind[shape, group]("group"), union.Kind[shape, empty]("empty"))
}

func TestNested(t *testing.T) {
	t.Parallel()
	c := codec()
	want := group{Members: []shape{circle{1}, empty{}, group{Members: []shape{}, First: circle{3}}}, First: circle{2}}
	data, err := json.Marshal(shape(want), json.WithMarshalers(c.Marshalers()))
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"kind":"group","members":[{"kind":"circle","radius":1},{"kind":"empty"},` +
		`{"kind":"group","members":[],"first":{"kind":"circle","radius":3}}],"first":{"kind":"circle","radius":2}}`
	if string(data) != text {
		t.Errorf("got  %s\nwant %s", data, text)
	}
	var got shape
	if err := json.Unmarshal(data, &got, json.WithUnmarshalers(c.Unmarshalers())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shape(want), got); diff != "" {
		t.Error(diff)
	}
}

// Decoding is closed: what is not exactly a variant is an error.
func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	kindState := union.New("state", nameOf, union.KindState[shape, circle]("figure", "circle"))
	for name, test := range map[string]struct {
		codec *union.Codec[shape]
		text  string
		want  string
	}{
		"unknown name":             {codec(), `{"kind":"square"}`, `unknown kind "square"`},
		"name of another case":     {codec(), `{"kind":"Circle","radius":1}`, `unknown kind "Circle"`},
		"missing tag":              {codec(), `{"radius":1}`, `member "kind" is missing`},
		"tag of another case":      {codec(), `{"Kind":"circle","radius":1}`, `member "kind" is missing`},
		"tag is not a text":        {codec(), `{"kind":1}`, `member "kind" must be a string`},
		"tag is only nested":       {codec(), `{"first":{"kind":"circle"}}`, `member "kind" is missing`},
		"two tags":                 {codec(), `{"kind":"circle","kind":"empty"}`, `duplicate`},
		"null":                     {codec(), `null`, `want an object`},
		"array":                    {codec(), `["circle"]`, `want an object`},
		"unknown member":           {codec(), `{"kind":"circle","radius":1,"colour":"red"}`, `colour`},
		"unknown member inside":    {codec(), `{"kind":"group","members":[{"kind":"empty","x":1}]}`, `"x"`},
		"member of the wrong type": {codec(), `{"kind":"circle","radius":"1"}`, `radius`},
		"variant of another name":  {codec(), `{"kind":"group","first":{"kind":"empty"}}`, `want "circle", got "empty"`},
		"missing fixed kind":       {kindState, `{"state":"circle","radius":1}`, `want "circle", got`},
		"another fixed kind":       {kindState, `{"kind":"number","state":"circle"}`, `want "circle", got`},
		"state as the fixed kind":  {kindState, `{"kind":"circle","state":"circle"}`, `want "circle", got`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got shape
			err := json.Unmarshal([]byte(test.text), &got, json.WithUnmarshalers(test.codec.Unmarshalers()), json.RejectUnknownMembers(true))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Unmarshal = %#v, %v; want an error with %q", got, err, test.want)
			}
		})
	}
}

// A table that disagrees with its switch cannot be built.
func TestNewRefusesDisagreement(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(){
		"listed twice": func() {
			union.New("kind", nameOf, union.Kind[shape, circle]("circle"), union.Kind[shape, circle]("circle"))
		},
		"wrong name":    func() { union.New("kind", nameOf, union.Kind[shape, circle]("ring")) },
		"wrong variant": func() { union.New("kind", nameOf, union.Kind[shape, empty]("circle")) },
		"no variant":    func() { union.New("kind", nameOf, union.Kind[shape, struct{}]("circle")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("New accepts it")
				}
			}()
			build()
		})
	}
}

func TestPeek(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{`{"kind":"a"}`, "a"},
		{`{"x":{"kind":"b"},"kind":"a"}`, "a"},
		{` { "kind" : "\u0061" } `, "a"},
		{`{"x":[1,{"kind":1}],"kind":"","y":2}`, ""},
	} {
		if got, err := union.Peek(jsontext.Value(test.text), "kind"); err != nil || got != test.want {
			t.Errorf("Peek(%s) = %q, %v; want %q", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{``, `1`, `{`, `{}`, `{"kind"`, `{"kind":`, `{"kind":null}`, `{"x":`, `{"x":1`} {
		if got, err := union.Peek(jsontext.Value(text), "kind"); err == nil {
			t.Errorf("Peek(%s) = %q, want an error", text, got)
		}
	}
}
