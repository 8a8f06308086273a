// Package union encodes closed unions as JSON objects with a discriminating member.
//
// Go has no sum types, so a union here is a sealed interface whose variants are plain structs. A [Codec] gives such an
// interface its wire form: the variant's own members beside one tag member that names the variant. Decoding is closed:
// an unknown tag is an error, never a guess.
package union

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Codec reads and writes the union T.
type Codec[T any] struct {
	tag          string
	cases        map[string]Case[T]
	marshalers   *json.Marshalers
	unmarshalers *json.Unmarshalers
}

// A Case is one variant of the union T; make it with [Kind], [Role], [Type], [State] or [KindState].
type Case[T any] struct {
	name      string
	zero      T
	marshal   *json.Marshalers
	unmarshal func(raw jsontext.Value, opts json.Options) (T, error)

	unmarshalVariant *json.Unmarshalers
}

// New returns the codec of T. The member tag holds the variant's name, name is the in-package type switch over T that an
// exhaustiveness checker sees, and cases is the table beside it. New panics when the two disagree, so that a variant
// cannot be in one and not in the other.
func New[T any](tag string, name func(T) string, cases ...Case[T]) *Codec[T] {
	c := &Codec[T]{tag: tag, cases: make(map[string]Case[T], len(cases))}
	ms := make([]*json.Marshalers, 0, len(cases))
	us := make([]*json.Unmarshalers, 0, len(cases)+1)
	for _, k := range cases {
		if _, dup := c.cases[k.name]; dup {
			panic(fmt.Sprintf("union: %T: case %q is listed twice", c, k.name))
		}
		if got := name(k.zero); got != k.name {
			panic(fmt.Sprintf("union: %T: case %q is named %q by its switch", c, k.name, got))
		}
		c.cases[k.name] = k
		ms = append(ms, k.marshal)
		us = append(us, k.unmarshalVariant)
	}
	c.marshalers = json.JoinMarshalers(ms...)
	us = append(us, json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		at, offset := dec.StackPointer(), dec.InputOffset()-int64(len(raw))
		got, err := c.decode(raw, dec.Options())
		if err != nil {
			// The variant was read on its own, so its error points into the variant: make it point into the whole.
			if inner, ok := err.(*json.SemanticError); ok { //nolint:errorlint // only the outermost one is ours to move
				inner.JSONPointer = at + inner.JSONPointer
				inner.ByteOffset += offset
			}
			return err
		}
		*v = got
		return nil
	}))
	c.unmarshalers = json.JoinUnmarshalers(us...)
	return c
}

// Marshalers returns the encoders of every variant.
func (c *Codec[T]) Marshalers() *json.Marshalers { return c.marshalers }

// Unmarshalers returns the decoder of T.
func (c *Codec[T]) Unmarshalers() *json.Unmarshalers { return c.unmarshalers }

// Len returns how many variants the codec knows.
func (c *Codec[T]) Len() int { return len(c.cases) }

func (c *Codec[T]) decode(raw jsontext.Value, opts json.Options) (T, error) {
	var none T
	name, err := Peek(raw, c.tag)
	if err != nil {
		return none, err
	}
	k, ok := c.cases[name]
	if !ok {
		return none, &UnknownError{Tag: c.tag, Name: name}
	}
	return k.unmarshal(raw, opts)
}

// An UnknownError reports a tag that names no variant of the union.
type UnknownError struct{ Tag, Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.Tag, e.Name) }

// Peek returns the string member of the JSON object raw that is called tag.
func Peek(raw jsontext.Value, tag string) (string, error) {
	if raw.Kind() != '{' {
		return "", fmt.Errorf("want an object with a %q member", tag)
	}
	// Most documents are canonical, so a single pass over the top level is enough.
	var name string
	found := false
	dec := jsontext.NewDecoder(newReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return "", err
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		if tok.String() != tag {
			if err := dec.SkipValue(); err != nil {
				return "", err
			}
			continue
		}
		val, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		if val.Kind() != '"' {
			return "", fmt.Errorf("member %q must be a string", tag)
		}
		name, found = val.String(), true
		break
	}
	if !found {
		return "", fmt.Errorf("member %q is missing", tag)
	}
	return name, nil
}

var errNotVariant = errors.New("union: variant does not implement its union")

func asUnion[T, V any](v V) T {
	t, ok := any(v).(T)
	if !ok {
		panic(fmt.Errorf("%w: %v", errNotVariant, reflect.TypeFor[V]()))
	}
	return t
}
