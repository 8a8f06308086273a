package view_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A graph builds sessions by hand.
type graph struct {
	t     *testing.T
	store *memstore.Store
	store.Session
	at object.Millis // time of the next commit; each takes 10 ms
}

const sessionID = "s"

func newGraph(t *testing.T) *graph {
	t.Helper()
	st := memstore.New(nil)
	out, err := st.CreateSession(t.Context(), store.CreateOptions{ID: sessionID, Reason: "create"})
	if err != nil {
		t.Fatal(err)
	}
	created, ok := out.(store.SessionCreated)
	if !ok {
		t.Fatalf("got %T", out)
	}
	return &graph{t: t, store: st, Session: created.Session, at: 100}
}

func (g *graph) put(o object.Object) object.OID {
	g.t.Helper()
	e := encode(g.t, o)
	if err := g.PutObjects(g.t.Context(), []object.Encoded{e}); err != nil {
		g.t.Fatal(err)
	}
	return e.OID
}

// commit puts a commit of body. The time is the builder's unless c has one.
func (g *graph) commit(c object.Commit, body object.Body) view.Commit {
	g.t.Helper()
	c.Body = body
	if c.At == 0 {
		c.At = g.at
		g.at += 10
	}
	return view.Commit{OID: g.put(c), Commit: c}
}

// branch puts commits of bodies one after the other, written by run, and moves head to the last.
func (g *graph) branch(head string, parent object.OID, run string, bodies ...object.Body) []view.Commit {
	g.t.Helper()
	var out []view.Commit
	for _, b := range bodies {
		c := g.commit(object.Commit{Parent: parent, Run: run}, b)
		parent = c.OID
		out = append(out, c)
	}
	g.set(ref.Head(head), parent)
	return out
}

func (g *graph) set(name ref.Name, to object.OID) {
	g.t.Helper()
	from, err := g.ReadRefs(g.t.Context(), name)
	if err != nil {
		g.t.Fatal(err)
	}
	out, err := g.UpdateRefs(g.t.Context(), []store.Update{{Name: name, From: from[0], To: to}}, store.UpdateOptions{Reason: "test"})
	if _, ok := out.(store.Updated); err != nil || !ok {
		g.t.Fatalf("set %s: %T %v", name, out, err)
	}
}

func (g *graph) fact(key, value string) {
	g.t.Helper()
	g.set(ref.Fact(key), g.put(object.Blob{Value: jsontext.Value(value)}))
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func encode(t fataler, o object.Object) object.Encoded {
	t.Helper()
	e, err := object.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// chain makes the commits of bodies, 10 ms apart from 100 on, without a store.
func chain(t fataler, bodies ...object.Body) []view.Commit {
	t.Helper()
	var out []view.Commit
	var parent object.OID
	for i, b := range bodies {
		c := object.Commit{Parent: parent, Body: b, At: object.Millis(100 + 10*i)}
		parent = encode(t, c).OID
		out = append(out, view.Commit{OID: parent, Commit: c})
	}
	return out
}

func user(text string) object.Body {
	return object.MessageBody{Message: message.NewUser(text, 1)}
}

func assistant(stop message.StopReason, parts ...message.Part) message.Assistant {
	return message.Assistant{API: "scripted", Provider: "p", Model: "m", StopReason: stop, Content: parts, Timestamp: 1}
}

func answer(text string) object.Body {
	return object.MessageBody{Message: assistant(message.StopEnd, message.Text{Text: text})}
}

func failure(text string) object.Body {
	m := assistant(message.StopError)
	m.ErrorMessage = text
	return object.MessageBody{Message: m}
}

func call(id string) message.Part {
	return message.ToolCall{ID: id, Name: "read", Arguments: jsontext.Value(`{"n":1}`)}
}

func calls(ids ...string) object.Body {
	m := assistant(message.StopToolUse)
	for _, id := range ids {
		m.Content = append(m.Content, call(id))
	}
	return object.MessageBody{Message: m}
}

func resultOf(id, text string) message.ToolResult {
	return message.ToolResult{ToolCallID: id, ToolName: "read", Content: []message.Content{message.Text{Text: text}}, Timestamp: 1}
}

func result(id, text string) object.Body { return object.MessageBody{Message: resultOf(id, text)} }

func measuredAnswer(text string, total int) object.Body {
	m := assistant(message.StopEnd, message.Text{Text: text})
	m.Usage.TotalTokens = total
	return object.MessageBody{Message: m}
}

func checkpoint(summary string, tail ...message.Message) object.Body {
	return object.CheckpointBody{Summary: summary, RetainedTail: append([]message.Message{}, tail...), TokensBefore: 7}
}

func model(id string) object.ConfigBody {
	return object.ConfigBody{Model: &object.Model{Provider: "p", ID: id}}
}

func oids(commits []view.Commit) []object.OID {
	var out []object.OID
	for _, c := range commits {
		out = append(out, c.OID)
	}
	return out
}
