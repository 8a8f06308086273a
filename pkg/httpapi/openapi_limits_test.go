package httpapi_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

// The limits of the document are the constants of package api: all of them under x-limits, and where they bind.
func TestOpenAPI_hasTheLimits(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "../api/limits.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{}).Check("api", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]any{}
	for _, name := range pkg.Scope().Names() {
		value, ok := constant.Int64Val(pkg.Scope().Lookup(name).(*types.Const).Val())
		if !ok {
			t.Fatalf("%s is no integer", name)
		}
		limits[strings.ToLower(name[:1])+strings.ReplaceAll(name[1:], "ID", "Id")] = float64(value)
	}
	c := document(t)
	if diff := cmp.Diff(limits, c.at("x-limits")); diff != "" {
		t.Errorf("x-limits (-package api +openapi.json):\n%s", diff)
	}
	limits["defaultEventPage"] = float64(httpapi.DefaultEventPage)

	const schemas, parameters = "/components/schemas/", "/components/parameters/"
	want := map[string]string{
		schemas + "SessionID/maxLength": "maxId", schemas + "RunID/maxLength": "maxId", schemas + "CallID/maxLength": "maxCallId",
		schemas + "Name/maxLength": "maxName", schemas + "RefName/maxLength": "maxName", schemas + "Title/maxLength": "maxTitle",
		schemas + "Key/maxLength":                            "maxKey",
		schemas + "Actor/properties/clientId/maxLength":      "maxKey",
		schemas + "Actor/properties/userId/maxLength":        "maxKey",
		schemas + "Actor/properties/device/maxLength":        "maxKey",
		schemas + "Content/oneOf/0/maxLength":                "maxText",
		schemas + "Content/oneOf/1/maxItems":                 "maxParts",
		schemas + "TextInput/properties/text/maxLength":      "maxText",
		schemas + "ImageInput/properties/data/maxLength":     "maxContent",
		schemas + "ImageInput/properties/mimeType/maxLength": "maxName",
		schemas + "ModelChoice/properties/id/maxLength":      "maxName",
		schemas + "CreateHead/properties/head/maxLength":     "maxName",
		parameters + "headPath/schema/maxLength":             "maxName",
		parameters + "cursor/schema/maxLength":               "maxRefPrefix",
		parameters + "owner/schema/maxLength":                "maxKey",
		parameters + "prefix/schema/maxLength":               "maxRefPrefix",
		parameters + "ref/schema/maxLength":                  "maxRefPrefix",
		parameters + "limit/schema/maximum":                  "maxPage",
		parameters + "limit/schema/default":                  "defaultPage",
		parameters + "eventLimit/schema/maximum":             "maxPage",
		parameters + "eventLimit/schema/default":             "defaultEventPage",
	}
	got := map[string]string{}
	c.walk(func(pointer string, node map[string]any) {
		for _, keyword := range []string{"maxLength", "maxItems", "maximum", "default"} {
			value, ok := node[keyword].(float64)
			if !ok {
				continue
			}
			at := pointer + "/" + keyword
			got[at] = "is not in the table of this test"
			if limit := want[at]; limit != "" && limits[limit] == value {
				got[at] = limit
			}
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits where they bind (-constants +openapi.json):\n%s", diff)
	}
	// Where a keyword cannot say it, the text does.
	for _, tt := range []struct {
		limit string
		at    []string
		form  string
	}{
		{"maxBody", []string{"info"}, "at most N bytes"},
		{"maxBody", []string{"components", "responses", "TooLarge"}, "more than N bytes"},
		{"maxReply", []string{"components", "schemas", "Reply", "properties", "reply"}, "at most N bytes"},
		{"maxText", []string{"components", "schemas", "Content"}, "at most N bytes"},
		{"maxContent", []string{"components", "schemas", "Content"}, "at most N."},
		{"maxKey", []string{"components", "parameters", "key"}, "at most N bytes"},
	} {
		text := strings.Replace(tt.form, "N", number(limits[tt.limit]), 1)
		if !strings.Contains(str(c.at(tt.at...)["description"]), text) {
			t.Errorf("%s does not say %q", strings.Join(tt.at, "/"), text)
		}
	}
	if pattern := str(c.at("components", "parameters", "key", "schema")["pattern"]); strings.Count(pattern, "{1,"+number(limits["maxKey"])+"}") != 2 {
		t.Errorf("Idempotency-Key has the pattern %s", pattern)
	}
}
