package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Tree is every stored commit of a session as a forest: parents before children, siblings by time, then oid.
type Tree struct{ Nodes []TreeNode }

// A TreeNode is one commit of a [Tree].
type TreeNode struct {
	OID    object.OID
	Parent object.OID // zero at a root, also when the parent is no longer stored
	Kind   string     // the body's kind
	Role   string     // user, assistant or toolResult; empty when it is no message
	Text   string     // on one line, cut short
	At     message.Millis
	Run    string
	Heads  []string // the heads whose tip it is
	Active bool     // on the path of the head that was asked for
}

// TreeReader is what reading a tree takes.
type TreeReader interface {
	store.ObjectReader
	store.RefReader
}

// treePage is how many objects are in memory at once.
const treePage = 512

// LoadTree reads every stored commit, also those that no head reaches any more, and marks the path of head. An unborn head has
// no path.
func LoadTree(ctx context.Context, r TreeReader, head string) (Tree, error) {
	heads, err := r.ListRefs(ctx, ref.Heads) // before the objects, so that every tip is among them
	if err != nil {
		return Tree{}, fmt.Errorf("list the heads: %w", err)
	}
	nodes, err := treeNodes(ctx, r)
	if err != nil {
		return Tree{}, err
	}
	byOID := make(map[object.OID]*TreeNode, len(nodes))
	for i := range nodes {
		byOID[nodes[i].OID] = &nodes[i]
	}
	for i, n := range nodes {
		if byOID[n.Parent] == nil {
			nodes[i].Parent = object.OID{}
		}
	}
	for _, h := range heads {
		n := byOID[h.OID]
		if n == nil {
			return Tree{}, &GraphError{h.OID, "missing or not a commit"}
		}
		n.Heads = append(n.Heads, strings.TrimPrefix(string(h.Name), ref.Heads))
		for h.Name == ref.Head(head) && n != nil {
			n.Active = true
			n = byOID[n.Parent]
		}
	}
	return Tree{Nodes: forest(nodes)}, nil
}

// treeNodes reads every commit, without an order.
func treeNodes(ctx context.Context, r store.ObjectReader) ([]TreeNode, error) {
	stored, err := r.ListObjects(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the objects: %w", err)
	}
	var nodes []TreeNode
	for page := range slices.Chunk(stored, treePage) {
		oids := make([]object.OID, len(page))
		for i, s := range page {
			oids[i] = s.OID
		}
		objs, err := r.GetObjects(ctx, oids)
		if err != nil {
			return nil, fmt.Errorf("read the objects: %w", err)
		}
		for i, o := range objs {
			// What has been collected since the list was made is nil.
			if c, ok := o.(object.Commit); ok {
				nodes = append(nodes, treeNode(oids[i], c))
			}
		}
	}
	return nodes, nil
}

func treeNode(oid object.OID, c object.Commit) TreeNode {
	n := TreeNode{OID: oid, Parent: c.Parent, Kind: object.BodyKind(c.Body), At: c.At, Run: c.Run}
	switch b := c.Body.(type) {
	case object.MessageBody:
		switch m := b.Message.(type) {
		case message.User:
			n.Role = "user"
		case message.Assistant:
			n.Role = "assistant"
		case message.ToolResult:
			n.Role = "toolResult"
			n.Text = oneLine(cmp.Or(m.Title, m.ToolName))
		}
		n.Text = cmp.Or(messageLine(b.Message), n.Text)
	case object.CheckpointBody:
		n.Text = oneLine(b.Summary)
	case object.SummaryBody:
		n.Text = oneLine(b.Text)
	case object.ConfigBody:
		if b.Model != nil {
			n.Text = b.Model.ID
		}
		n.Text = oneLine(strings.Join([]string{n.Text, b.ThinkingLevel, b.Agent}, " "))
	case object.NoteBody:
		n.Text = oneLine(b.Type)
	}
	return n
}

// forest puts nodes in order: depth first, so that a path stays together.
func forest(nodes []TreeNode) []TreeNode {
	slices.SortFunc(nodes, func(a, b TreeNode) int {
		return cmp.Or(cmp.Compare(a.At, b.At), a.OID.Compare(b.OID))
	})
	children := make(map[object.OID][]TreeNode)
	for _, n := range nodes {
		children[n.Parent] = append(children[n.Parent], n)
	}
	out := make([]TreeNode, 0, len(nodes))
	// Branches are longer than a call stack should be.
	stack := slices.Clone(children[object.OID{}])
	slices.Reverse(stack)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, n)
		for _, child := range slices.Backward(children[n.OID]) {
			stack = append(stack, child)
		}
	}
	return out
}
