package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many arrays and objects arguments and schemas may nest. Checking walks recursively, and what no person
// would write is refused before it can cost a stack or a second.
const MaxDepth = 128

var (
	errTooDeep  = fmt.Errorf("nests deeper than %d levels", MaxDepth)
	errTrailing = errors.New("has something after the value")
)

// decodeValue returns raw as a tree of map[string]any, []any, string, bool, nil and numbers. A number is an int64 or a
// uint64 when it is written as an integer that fits, else the nearest float64. The tree serves checking only; a
// json.Number would do too, were it not a Go string to the schema library, which then lets the number 5 pass for "5".
func decodeValue(raw []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := readValue(dec, 0)
	if err != nil {
		return nil, plainSyntax(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return v, nil
}

func readValue(dec *jsontext.Decoder, depth int) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		return readObject(dec, depth+1)
	case '[':
		return readArray(dec, depth+1)
	case '"':
		return tok.String(), nil
	case '0':
		return number(tok.String())
	case 't', 'f':
		return tok.Bool(), nil
	case 'n':
		return nil, nil
	}
	return nil, fmt.Errorf("unexpected %s", tok)
}

func readObject(dec *jsontext.Decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errTooDeep
	}
	obj := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the next read, which reuses the token's bytes
		if obj[key], err = readValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return obj, err
}

func readArray(dec *jsontext.Decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, errTooDeep
	}
	arr := []any{}
	for dec.PeekKind() != ']' {
		v, err := readValue(dec, depth)
		if err != nil {
			return nil, err
		}
		arr = append(arr, v)
	}
	_, err := dec.ReadToken()
	return arr, err
}

func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("holds the number %s, which is beyond a double; send it as a string", clip(text))
	}
	return f, nil
}

// plainSyntax takes the package prefix off a jsontext error, whose reader is a model.
func plainSyntax(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("is cut short")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("is not JSON: %s", strings.TrimPrefix(syntax.Error(), "jsontext: "))
	}
	return err
}

// clip shortens s to a length fit for an error text, on a code point.
func clip(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
