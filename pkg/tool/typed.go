package tool

import (
	"context"
	"encoding/json" //nolint:depguard // the schema library writes schemas with it
	"errors"
	"fmt"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// Typed returns a tool whose parameters are the fields of the struct In, named by their json tags, described by their
// jsonschema tags, and required unless they are omitzero. Fn gets the arguments decoded as [Decode] does; arguments that
// match the schema and still do not fit In, such as an integer too large for its field, are an error result. The error
// names what In cannot express.
func Typed[In any](name, description string, replay Replay, fn func(ctx context.Context, call Call, in In) (Outcome, error)) (Tool, error) {
	params, err := schemaOf[In]()
	if err != nil {
		return Tool{}, fmt.Errorf("tool %q: %w", name, err)
	}
	if fn == nil {
		return Tool{}, fmt.Errorf("tool %q: the function is nil", name)
	}
	return Tool{
		Name:        name,
		Description: description,
		Parameters:  params,
		Replay:      replay,
		Execute: func(ctx context.Context, call Call) (Outcome, error) {
			in, err := Decode[In](call.Arguments)
			if err != nil {
				return Errorf("%v", err), nil
			}
			return fn(ctx, call, in)
		},
	}, nil
}

// Decode returns args as an In. Names are case-sensitive; unknown and repeated names are errors, as is a number that does
// not fit an integer field. The error text names the place in the arguments.
func Decode[In any](args jsontext.Value) (In, error) {
	var in In
	err := jsonv2.Unmarshal(args, &in, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		return in, nil
	}
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		return in, fmt.Errorf("arguments%s: %w", pathOf(semantic.JSONPointer), semanticCause(semantic))
	}
	return in, fmt.Errorf("arguments: %w", plainSyntax(err))
}

func semanticCause(err *jsonv2.SemanticError) error {
	switch {
	case errors.Is(err.Err, jsonv2.ErrUnknownName):
		return errors.New("is not known")
	case len(err.JSONValue) > 0:
		return fmt.Errorf("%s does not fit %v", clip(string(err.JSONValue)), err.GoType)
	case err.Err != nil:
		return err.Err
	}
	return fmt.Errorf("a %v does not fit %v", err.JSONKind, err.GoType)
}

func pathOf(p jsontext.Pointer) string {
	path := ""
	for name := range p.Tokens() {
		if strings.Trim(name, "0123456789") == "" && name != "" {
			path += "[" + name + "]"
		} else {
			path += member(name)
		}
	}
	return path
}

func schemaOf[In any]() (jsontext.Value, error) {
	if t := reflect.TypeFor[In](); t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the input must be a struct, not %v", t)
	}
	s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		// Any JSON, not the bytes it is made of. Without a word of text it would be written as the schema "true", which some
		// providers refuse.
		reflect.TypeFor[jsontext.Value](): {Description: "any JSON value"},
		reflect.TypeFor[[]byte]():         {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return nil, fmt.Errorf("deriving the parameters: %w", err)
	}
	denyNullLists(s)
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("writing the parameters: %w", err)
	}
	return raw, nil
}

// denyNullLists undoes the library's "null or array" for slices: a model is told to send a list, or to leave it out.
func denyNullLists(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] == "array" {
		s.Type, s.Types = "array", nil
	}
	for _, c := range children(s) {
		denyNullLists(c.schema)
	}
}
