package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A SessionEntry is one row of the session list.
type SessionEntry struct {
	Name         string
	Preview      string // the newest user or assistant text of the default head, on one line, cut short
	CreatedAt    object.Millis
	LastActivity object.Millis // time of the newest commit that is a tip, CreatedAt before the first
	Pinned       bool
	Archived     bool
	Heads        []string // the default head first, born or not
	Config       object.Config
	Parent       jsontext.Value // the value of the fact parent; nil for a root session
}

// The facts of a row.
const (
	nameFact = iota
	pinnedFact
	archivedFact
	parentFact
)

// LoadSessionEntry reads the row of a session. A fact that does not have the form of its kind counts as absent, so that no fact takes a
// session off the list.
func LoadSessionEntry(ctx context.Context, r store.Reader, defaultHead string, createdAt object.Millis) (SessionEntry, error) {
	e := SessionEntry{CreatedAt: createdAt}
	heads, err := r.ListRefs(ctx, ref.Heads)
	if err != nil {
		return SessionEntry{}, fmt.Errorf("list the heads: %w", err)
	}
	stacks, err := r.ListRefs(ctx, ref.Stacks)
	if err != nil {
		return SessionEntry{}, fmt.Errorf("list the stacks: %w", err)
	}
	e.Heads = headNames(defaultHead, heads, stacks)
	oids, err := r.ReadRefs(ctx, ref.Fact("name"), ref.Fact("pinned"), ref.Fact("archived"), ref.Fact("parent"), ref.Run(defaultHead))
	if err != nil {
		return SessionEntry{}, fmt.Errorf("read the facts: %w", err)
	}
	facts := len(oids) - 1
	var tip object.OID
	for _, h := range heads {
		oids = append(oids, h.OID)
		if h.Name == ref.Head(defaultHead) {
			tip = h.OID
		}
	}
	objs, err := getPresent(ctx, r, oids)
	if err != nil {
		return SessionEntry{}, err
	}
	e.readFacts(objs[:facts])
	e.LastActivity = lastActivity(objs[facts+1:], createdAt)

	c, err := LoadContext(ctx, r, tip, Context{})
	if err != nil {
		return SessionEntry{}, err
	}
	run, _ := objs[facts].(object.Run)
	e.Config = configOf(run, c.Config)
	e.Preview, err = preview(ctx, r, c)
	return e, err
}

func headNames(first string, lists ...[]store.Ref) []string {
	names := []string{first}
	for _, refs := range lists {
		for _, rf := range refs {
			name := rf.Name[strings.LastIndex(string(rf.Name), "/")+1:]
			if !slices.Contains(names, string(name)) {
				names = append(names, string(name))
			}
		}
	}
	return names
}

// getPresent reads objects in their order, nil where the oid is zero. One that is not stored is a [*GraphError].
func getPresent(ctx context.Context, r store.ObjectReader, oids []object.OID) ([]object.Object, error) {
	var present []object.OID
	for _, o := range oids {
		if !o.IsZero() {
			present = append(present, o)
		}
	}
	out := make([]object.Object, len(oids))
	if len(present) == 0 {
		return out, nil
	}
	got, err := r.GetObjects(ctx, present)
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	for i, o := range oids {
		if o.IsZero() {
			continue
		}
		if got[0] == nil {
			return nil, &GraphError{o, "missing"}
		}
		out[i], got = got[0], got[1:]
	}
	return out, nil
}

func (e *SessionEntry) readFacts(objs []object.Object) {
	value := func(i int, into any) bool {
		blob, ok := objs[i].(object.Blob)
		return ok && json.Unmarshal(blob.Value, into) == nil
	}
	var name string
	if value(nameFact, &name) {
		e.Name = name
	}
	var set bool
	e.Pinned = value(pinnedFact, &set) && set
	e.Archived = value(archivedFact, &set) && set
	if blob, ok := objs[parentFact].(object.Blob); ok {
		e.Parent = blob.Value
	}
}

func lastActivity(tips []object.Object, createdAt object.Millis) object.Millis {
	var newest object.Millis
	for _, o := range tips {
		if c, ok := o.(object.Commit); ok {
			newest = max(newest, c.At)
		}
	}
	if newest == 0 {
		return createdAt
	}
	return newest
}

// previewDepth is how many commits before the context are looked at.
const previewDepth = 16

// preview finds the newest text that a person would know the session by. Tool output is none.
func preview(ctx context.Context, r store.ObjectReader, c Context) (string, error) {
	for _, commit := range slices.Backward(c.Commits) {
		if text := previewLine(commit.Commit.Body); text != "" {
			return text, nil
		}
	}
	if len(c.Commits) == 0 || c.Commits[0].Commit.Parent.IsZero() {
		return "", nil
	}
	older, err := Branch(ctx, r, c.Commits[0].Commit.Parent, previewDepth)
	if err != nil {
		return "", err
	}
	for _, commit := range slices.Backward(older) {
		if text := previewLine(commit.Commit.Body); text != "" {
			return text, nil
		}
	}
	return "", nil
}

func previewLine(b object.Body) string {
	switch b := b.(type) {
	case object.MessageBody:
		return spokenLine(b.Message)
	case object.CheckpointBody:
		for _, m := range slices.Backward(b.RetainedTail) {
			if text := spokenLine(m); text != "" {
				return text
			}
		}
	case object.SummaryBody, object.ConfigBody, object.NoteBody:
	}
	return ""
}

func spokenLine(m message.Message) string {
	if _, ok := m.(message.ToolResult); ok {
		return ""
	}
	return messageLine(m)
}
