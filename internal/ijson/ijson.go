// Package ijson decides whether a JSON text means the same to everyone who reads it: I-JSON (RFC 7493) with a nesting
// limit and a stricter rule for numbers. What passes can be canonicalised and hashed without changing its meaning.
package ijson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the greatest limit that [Check] can enforce. The JSON reader itself refuses anything deeper.
const MaxDepth = 10_000

// An Error says which value of a JSON text breaks which rule.
type Error struct {
	// Path leads from the root to the value, for example $.a[3]. Very long paths are shortened in the middle.
	Path string
	// Reason is one plain clause, for example "number 1e400 is too large for a double".
	Reason string
}

// Error returns the path and the reason.
func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Check reports the first rule that v breaks, as an [*Error], or nil. The rules:
//
//   - v is exactly one JSON value, in valid UTF-8, without unpaired surrogate escapes;
//   - no object has two members of the same name;
//   - arrays and objects nest at most maxDepth levels ([] is one level), and never more than [MaxDepth];
//   - every number is kept by an IEEE double: the decimal value written equals the decimal value of the shortest form
//     of the nearest double. 0.1, 1e21 and -0 pass; 9007199254740993, 1e400 and 1e-400 do not.
//
// It stops at the first offence and keeps no call stack per level, so hostile nesting costs nothing.
func Check(v jsontext.Value, maxDepth int) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return syntaxError(dec, err)
		}
		switch tok.Kind() {
		case '{', '[':
			if dec.StackDepth() > maxDepth {
				return &Error{path(dec, dec.StackPointer()), fmt.Sprintf("nested more than %d levels deep", maxDepth)}
			}
		case '0':
			if reason := checkNumber(tok.String()); reason != "" {
				return &Error{path(dec, dec.StackPointer()), reason}
			}
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{"$", "more text follows the JSON value"}
	}
	return nil
}

func syntaxError(dec *jsontext.Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		return &Error{"$", "no JSON value"}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{path(dec, dec.StackPointer()), "the JSON text is cut short"}
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &Error{path(dec, dec.StackPointer()), err.Error()}
	}
	where := path(dec, syntax.JSONPointer)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &Error{where, "the name appears twice in its object"}
	}
	if syntax.Err == nil {
		return &Error{where, "invalid JSON"}
	}
	return &Error{where, syntax.Err.Error()}
}
