package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is the length limit the protocol sets for call ids and tool names.
const maxName = 64

// callIDs gives every call of a request an id that servers accept and no other call has. Equal histories get equal ids,
// and a longer history keeps the ids of its beginning, so prompt caches still match.
type callIDs struct{ used map[string]bool }

// next returns the wire id of a call whose own id is id. The caller gives the same one to the call's result.
func (c *callIDs) next(id string) string {
	wire := safeName(id)
	switch {
	case id == "":
		wire = "call"
	case wire != id:
		// The hash keeps apart what cleaning would make equal, such as "a/b" and "a_b".
		sum := sha256.Sum256([]byte(id))
		wire = strings.TrimPrefix(wire[:min(len(wire), 40)]+"_", "_") + hex.EncodeToString(sum[:8])
	}
	unique := wire
	for n := 2; c.used[unique]; n++ {
		suffix := "_" + strconv.Itoa(n)
		unique = wire[:min(len(wire), maxName-len(suffix))] + suffix
	}
	c.used[unique] = true
	return unique
}

// safeName returns s with at most 64 letters, digits, "_" and "-", every other byte replaced by "_".
func safeName(s string) string {
	if len(s) > maxName {
		s = s[:maxName]
	}
	b := []byte(s)
	for i, c := range b {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '_' && c != '-' {
			b[i] = '_'
		}
	}
	return string(b)
}
