package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Changes are the commits that one run wrote, oldest first.
type Changes struct {
	RunID   string       `json:"runId"`
	Commits []CommitItem `json:"commits"`
}

// A RefInfo is a ref and what it points to.
type RefInfo struct {
	Name string     `json:"name"`
	OID  object.OID `json:"oid"`
}

// A ReflogEntry is one recorded move of a ref.
type ReflogEntry struct {
	Seq    int64          `json:"seq"`
	At     message.Millis `json:"at"`
	Name   string         `json:"name"`
	From   object.OID     `json:"from"`
	To     object.OID     `json:"to"`
	Reason string         `json:"reason"`
	Actor  *object.Actor  `json:"actor,omitzero"`
}

// A StoredObject is an object as it is stored.
type StoredObject struct {
	OID  object.OID     `json:"oid"`
	Kind string         `json:"kind"`
	Body jsontext.Value `json:"body"` // canonical JSON: its SHA-256 is OID
}

// A Tree is every commit of a session as a forest, parents before children and siblings by time.
type Tree struct {
	Nodes []TreeNode `json:"nodes"`
}

// A TreeNode is one commit of a [Tree].
type TreeNode struct {
	OID    object.OID     `json:"oid"`
	Parent object.OID     `json:"parent"` // null at a root, also when the parent is no longer stored
	Kind   string         `json:"kind"`   // the body's kind
	Role   string         `json:"role,omitzero"`
	Text   string         `json:"text,omitzero"` // cut short
	At     message.Millis `json:"at"`
	Run    string         `json:"run,omitzero"`
	Heads  []string       `json:"heads"`  // the heads whose tip it is
	Active bool           `json:"active"` // on the path of the head that was asked for
}

// A CheckReport is what fsck found. No problems means that every invariant that can be read off the session holds.
type CheckReport struct {
	Objects  int       `json:"objects"`
	Refs     int       `json:"refs"`
	Events   int       `json:"events"`
	Problems []Problem `json:"problems"`
}

// A Problem is one broken invariant.
type Problem struct {
	Invariant int        `json:"invariant,omitzero"` // its number in the design, when it has one
	Ref       string     `json:"ref,omitzero"`
	OID       object.OID `json:"oid,omitzero"`
	Detail    string     `json:"detail"`
}

// A TrimReport says where the event floor is after a trim.
type TrimReport struct {
	Floor int64 `json:"floor"`
}

// A CollectReport counts what a collection did to objects.
type CollectReport struct {
	Scanned   int `json:"scanned"`
	Reachable int `json:"reachable"`
	Swept     int `json:"swept"`
}
