package tool

import (
	"encoding/json" //nolint:depguard // the schema library reads schemas with it
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	defaultID = "urn:stepwell:parameters" // gives references a base that a subschema can be reached from
	// maxExact is the largest integer up to which every one has its own double.
	maxExact = 1 << 53
)

// A schema checks the arguments of one tool. It is safe for concurrent use.
type schema struct {
	root     *jsonschema.Schema
	tree     tree
	resolved *jsonschema.Resolved
}

// compile returns the checker of raw. It refuses what the library would only trip over later: a root that is not an
// object, references that leave the document or never end, and values the library would round.
func compile(raw jsontext.Value) (*schema, error) {
	if len(raw) == 0 {
		return nil, errors.New(`the schema is missing; a tool without parameters has {"type":"object"}`)
	}
	v, err := decodeValue(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema %w", err)
	}
	if obj, ok := v.(map[string]any); !ok || obj["type"] != "object" {
		return nil, errors.New(`the schema must be an object whose "type" is "object"`)
	}
	if err := checkExact(v); err != nil {
		return nil, err
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	normalize(root)
	t, err := newTree(root)
	if err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolving the schema: %w", err)
	}
	return &schema{root: root, tree: t, resolved: resolved}, nil
}

// normalize makes root checkable without changing its meaning. The library knows two drafts by their exact names and fails
// every value under any other; a schema of another draft is read as 2020-12, as one that names none is.
func normalize(root *jsonschema.Schema) {
	switch root.Schema {
	case draft7, "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft-07/schema":
		root.Schema = draft7
	default:
		root.Schema = ""
	}
	if id, err := url.Parse(root.ID); err != nil || !id.IsAbs() {
		root.ID = defaultID
	}
}

// checkExact refuses integers that the library would round: an enum of 2^53+1 would accept 2^53 and refuse 2^53+1.
func checkExact(v any) error {
	switch v := v.(type) {
	case int64:
		if v > maxExact || v < -maxExact {
			return fmt.Errorf("the schema holds %d, which is beyond 2^53 and cannot be compared exactly; use a string", v)
		}
	case uint64:
		return fmt.Errorf("the schema holds %d, which is beyond 2^53 and cannot be compared exactly; use a string", v)
	case []any:
		for _, e := range v {
			if err := checkExact(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if err := checkExact(v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// check reports why args must not reach the tool, or nil.
func (s *schema) check(args jsontext.Value) error {
	if len(args) == 0 {
		return errors.New("arguments: are empty; send a JSON object")
	}
	v, err := decodeValue(args)
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if err := s.resolved.Validate(v); err != nil {
		return s.explain(v, err)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
