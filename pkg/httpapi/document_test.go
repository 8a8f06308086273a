package httpapi_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validationerrors "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/pb33f/libopenapi-validator/strict"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// A contract is the OpenAPI document with what checks against it.
type contract struct {
	tree      map[string]any
	model     *v3.Document
	validator validator.Validator
	schemas   schema_validation.SchemaValidator
	options   *config.ValidationOptions
	// The validators share caches. No test waits while it holds the lock.
	mu sync.Mutex
}

var openContract = sync.OnceValues(func() (*contract, error) {
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	doc, err := libopenapi.NewDocument(raw)
	if err != nil {
		return nil, err
	}
	built, err := doc.BuildV3Model()
	if err != nil {
		return nil, err
	}
	// Strict: what is not described is an error, though clients must put up with it.
	options := []config.Option{
		config.WithStrictMode(),
		config.WithFormatAssertions(),
		config.WithStrictIgnoredHeadersExtra("X-Content-Type-Options", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods",
			"Access-Control-Allow-Headers", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Sec-Fetch-Site", "X-User", "X"),
		// Any JSON is any JSON.
		config.WithStrictIgnorePaths("$.**.args.**", "$.**.details.**", "$.**.data.**", "$.**.value.**", "$.**.arguments.**", "$.**.signal.**", "$.body.reply.**",
			// So is the document itself, which has a test of its own.
			"$.body.openapi", "$.body.info", "$.body.servers", "$.body.security", "$.body.tags", "$.body.paths", "$.body.components", "$.body.x-limits"),
	}
	v, errs := validator.NewValidator(doc, options...)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return &contract{
		tree: tree, model: &built.Model, validator: v,
		schemas: schema_validation.NewSchemaValidator(options...), options: config.NewValidationOptions(options...),
	}, nil
})

func document(t *testing.T) *contract {
	t.Helper()
	c, err := openContract()
	if err != nil {
		t.Fatalf("openapi.json cannot be read: %v", err)
	}
	return c
}

// mismatch says why data is not what the named schema says, or "".
func (c *contract) mismatch(schema string, data []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	proxy := c.model.Components.Schemas.GetOrZero(schema)
	if proxy == nil {
		return "there is no schema " + schema
	}
	if why := c.against(proxy.Schema(), data); why != "" {
		return string(data) + " is not a " + schema + ":\n" + why
	}
	return ""
}

// against says why data is not what schema says, or "". The caller has the lock.
func (c *contract) against(schema *base.Schema, data []byte) string {
	if ok, errs := c.schemas.ValidateSchemaString(schema, string(data)); !ok {
		return reasons(errs)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, undeclared := range strict.ValidateBody(schema, value, strict.DirectionResponse, c.options, 3.1).UndeclaredValues {
		b.WriteString("  " + undeclared.Path + " is not declared\n")
	}
	return b.String()
}

// operation returns what the document says about the request, or nil.
func (c *contract) operation(r *http.Request) *v3.Operation {
	mux := http.NewServeMux()
	for path := range c.model.Paths.PathItems.KeysFromOldest() {
		mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) {})
	}
	_, path := mux.Handler(r)
	if path == "" {
		return nil
	}
	return c.model.Paths.PathItems.GetOrZero(path).GetOperations().GetOrZero(strings.ToLower(r.Method))
}

func reasons(errs []*validationerrors.ValidationError) string {
	var b strings.Builder
	for _, e := range errs {
		b.WriteString("  " + e.Message + ": " + e.Reason + "\n")
		for _, s := range e.SchemaValidationErrors {
			b.WriteString("    " + strings.Join(s.InstancePath, "/") + " " + s.Reason + " (" + s.KeywordLocation + ")\n")
		}
	}
	return b.String()
}

// at returns the object at a path of the document, or nil.
func (c *contract) at(path ...string) map[string]any { return child(c.tree, path...) }

// child returns the object at a path below v, or nil.
func child(v any, path ...string) map[string]any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	m, _ := v.(map[string]any)
	return m
}

// walk visits every object of the document with its JSON pointer, but not what is in examples.
func (c *contract) walk(visit func(pointer string, node map[string]any)) {
	var walk func(string, any)
	walk = func(pointer string, v any) {
		switch v := v.(type) {
		case map[string]any:
			visit(pointer, v)
			for name, value := range v {
				if name != "example" && name != "examples" {
					walk(pointer+"/"+strings.ReplaceAll(name, "/", "~1"), value)
				}
			}
		case []any:
			for i, value := range v {
				walk(pointer+"/"+strconv.Itoa(i), value)
			}
		}
	}
	walk("", c.tree)
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, s := range list {
		out = append(out, str(s))
	}
	return out
}

func number(v any) string {
	f, _ := v.(float64)
	return strconv.FormatInt(int64(f), 10)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
